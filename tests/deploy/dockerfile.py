"""Reads a Dockerfile into its stages, as far as ours goes."""

import json
import re
import shlex
from dataclasses import dataclass, field


@dataclass
class Instruction:
    """One, with its continuation lines joined."""

    name: str
    value: str

    @property
    def words(self):
        """The words of an exec form (JSON), else of a shell's line; of a HEALTHCHECK those of its command."""
        said = self.value.rpartition("CMD ")[2]
        return json.loads(said) if said.startswith("[") else shlex.split(said)


@dataclass
class Stage:
    """What stands between two FROM lines.

    Attributes:
        base: image or stage.
        instructions: in order.
    """

    base: str
    instructions: list[Instruction] = field(default_factory=list)

    def all(self, name):
        return [instruction for instruction in self.instructions if instruction.name == name]

    def last(self, name):
        return self.all(name)[-1]


def stages(path):
    """By name, in order."""
    read, arguments = {}, {}
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.M)
    for line in re.sub(r"\\\n", "", text).splitlines():
        if not line.strip():
            continue
        name, _, value = line.partition(" ")
        if name == "FROM":
            base, _, stage = value.partition(" AS ")
            current = read[stage] = Stage(re.sub(r"\$\{(\w+)\}", lambda m: arguments[m[1]], base))
        elif read:
            current.instructions.append(Instruction(name, value.strip()))
        elif name == "ARG":
            argument, _, default = value.partition("=")
            arguments[argument] = default
    return read
