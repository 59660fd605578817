"""What a ranker costs, from a price file and from what was counted."""

import pytest

from memsift_ops.errors import Refused
from memsift_ops.evaluation import prices
from tests.ops.eval.made_up import outcome

COUNTED = {"prompt_tokens": 2_000, "cached_tokens": 500, "output_tokens": 10, "rank_ms": 360.0}


@pytest.fixture
def per_million(tmp_path):
    """The cost of a million calls like one, by the text of a price file."""

    def per_million(toml, ranker, **counted):
        path = tmp_path / "ours.toml"
        path.write_text(toml, encoding="utf-8")
        return prices.load(str(path)).per_million(ranker, [outcome("q", ["m"], **(COUNTED | counted))])

    return per_million


NOX = """
[nox]
usd_per_million_prompt_tokens = 0.4
usd_per_million_cached_tokens = 0.1
usd_per_million_output_tokens = 1.6
"""


@pytest.mark.parametrize(
    ("toml", "ranker", "dollars"),
    [
        # By hand: 1,500 x 0.4 + 500 x 0.1 + 10 x 1.6 = 666 dollars
        (NOX, "nox", 666),
        (NOX, "jev>nox", 666),
        # Without a price of their own, cached tokens cost as others do: 2,000 x 0.042
        ("[decision]\nusd_per_million_prompt_tokens = 0.042", "jev>decision", 84),
        ("[clef]\nusd_per_call = 0.002", "clef", 2_000),
        ("[clef]\nusd_per_call = 0.002\n[jev]\nusd_per_call = 0.001", "jev>clef", 3_000),
        # 360 ms are a ten-thousandth of an hour
        ("[local]\nusd_per_machine_hour = 2", "local", 200),
        ("[local]\nusd_per_machine_hour = 2\ncalls_per_hour = 40_000", "local", 50),
        (
            "[local]\nusd_per_machine_hour = 2\n[jev]\nusd_per_machine_hour = 1\ncalls_per_hour = 1e6",
            "jev>local",
            201,
        ),
        # A chain's own table takes the place of its parts'
        (NOX + '["jev>nox"]\nusd_per_call = 0.001', "jev>nox", 1_000),
        # A strategy may have its own, else it has the ranker's
        ('[local]\nusd_per_call = 1e-3\n["local[listwise]"]\nusd_per_call = 3e-3', "local[listwise]", 3_000),
        (
            '[local]\nusd_per_call = 1e-3\n["local[listwise]"]\nusd_per_call = 3e-3',
            "jev>local[listwise]",
            3_000,
        ),
        ('[local]\nusd_per_call = 1e-3\n["local[listwise]"]\nusd_per_call = 3e-3', "local[pointwise]", 1_000),
        ('["jev>local"]\nusd_per_call = 1e-3', "jev>local[pointwise]", 1_000),
        # What runs on a machine of one's own costs nothing until that has a price
        ("", "local", 0),
        ("", "jev>local[listwise]", 0),
        ("[prefilter]\nusd_per_call = 1e-6", "prefilter", 1),
        ("[nox]", "nox", 0),
        # Two with one price a token are as good as one
        (NOX + NOX.replace("nox", "clef"), "clef>nox", 666),
    ],
)
def test_cost_by_hand(per_million, toml, ranker, dollars):
    assert per_million(toml, ranker) == pytest.approx(dollars)


@pytest.mark.parametrize(
    ("toml", "ranker", "counted"),
    [
        ("", "nox", {}),
        ("", "jev>clef", {}),
        (NOX, "decision", {}),
        # Whose tokens they were is not known
        (NOX, "local>nox", {}),
        (NOX + "[clef]\nusd_per_million_prompt_tokens = 1", "clef>nox", {}),
        # A server that counts no tokens is not free
        (NOX, "nox", {"prompt_tokens": 0, "cached_tokens": 0, "output_tokens": 0}),
        ("[local]\nusd_per_machine_hour = 2", "local", {"rank_ms": None}),
        ("[local]\nusd_per_machine_hour = 2\n[jev]\nusd_per_machine_hour = 1", "jev>local", {}),
    ],
)
def test_what_is_not_known_is_no_zero(per_million, toml, ranker, counted):
    assert per_million(toml, ranker, **counted) is None


def test_the_mean_of_calls_is_known_if_each_one_is(tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text(NOX)
    found = prices.load(str(path))
    calls = [outcome("a", ["m"], prompt_tokens=1_000), outcome("b", ["m"], prompt_tokens=3_000)]
    assert found.per_million("nox", calls) == pytest.approx(800)
    assert found.per_million("nox", [*calls, outcome("c", ["m"])]) is None
    assert found.per_million("nox", []) is None


def test_ours_prices_what_has_a_source_and_nothing_else():
    ours = prices.load("default")
    assert ours.as_json() == {"name": "default", "date": "2026-11-29"}
    call = [outcome("q", ["m"], **COUNTED)]
    found = {
        ranker: ours.per_million(ranker, call)
        for ranker in ("prefilter", "jev", "local", "decision", "nox", "clef")
    }
    assert found == {
        "prefilter": 0,
        "jev": 0,
        "local": 0,
        "decision": pytest.approx(84),
        "nox": None,
        "clef": None,
    }


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[nox", "ours.toml: is no TOML"),
        ("[nox]\nusd_per_token = 1", "ours.toml: nox.usd_per_token: Extra inputs are not permitted"),
        ("[nox]\nusd_per_call = -1", "ours.toml: nox.usd_per_call: Input should be greater"),
        ("[nox]\nusd_per_call = nan", "ours.toml: nox.usd_per_call: "),
        ("[local]\ncalls_per_hour = 0", "ours.toml: local.calls_per_hour: "),
        ("usd_per_call = 1", "ours.toml: usd_per_call: Input should be a valid dictionary"),
        ("[bm25]", "ours.toml: bm25: rankers are local, jev"),
        ('["local[guess]"]', "ours.toml: local[guess]: rankers are"),
        ("date = 3", "ours.toml: date: write it as in 2026-11-29"),
        (b"\xff", "ours.toml: is not UTF-8"),
    ],
)
def test_a_wrong_price_file_is_refused(tmp_path, toml, said):
    path = tmp_path / "ours.toml"
    path.write_bytes(toml if isinstance(toml, bytes) else toml.encode())
    with pytest.raises(Refused) as caught:
        prices.load(str(path))
    assert caught.value.message.startswith(said)


def test_a_price_file_that_is_not_there(tmp_path):
    with pytest.raises(Refused, match="No such file"):
        prices.load(str(tmp_path / "none.toml"))


def test_without_prices_a_public_service_that_told_none_is_not_free():
    def filled(told, leaves_network):
        sets = {"s": {"nox": {"cost_per_million": told, "leaves_network": leaves_network}}}
        prices.fill(sets, [], None)
        return sets["s"]["nox"]["cost_per_million"]

    assert filled(0.0, True) is None
    assert filled(200.0, True) == 200.0
    assert filled(0.0, False) == filled(0.0, None) == 0.0
    assert filled(None, False) is None
