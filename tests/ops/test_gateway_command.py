"""`memsift gateway`: what it refuses before it serves, and how keys are made."""

import hashlib
import socket
import tomllib

import pytest

from memsift_ops.commands import gateway


@pytest.fixture
def served(monkeypatch):
    """Nothing is served; what would have been is kept."""
    calls = []
    monkeypatch.setattr(gateway.uvicorn, "run", lambda *given, **told: calls.append((given, told)))
    return calls


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "gateway.example"])
def test_without_keys_it_refuses_to_serve_other_machines(run, served, monkeypatch, host):
    monkeypatch.delenv("MEMSIFT_GATEWAY_KEYS", raising=False)
    code, _, err = run("gateway", f"--host={host}")
    assert code == 2
    assert "memsift gateway key NAME" in err
    assert "MEMSIFT_GATEWAY_KEYS" in err
    assert not served


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.8.8.8", "::1"])
def test_without_keys_it_serves_this_machine(run, served, host):
    assert run("gateway", f"--host={host}", "--port=18010")[0] == 0
    ((_, told),) = served
    assert told["host"] == host
    # The server's own access log would show query strings
    assert told["access_log"] is False


def test_with_keys_it_serves_others_too(run, served, monkeypatch, tmp_path):
    _, entry, _ = run("gateway", "key", "app")
    (tmp_path / "keys.toml").write_text(entry)
    monkeypatch.setenv("MEMSIFT_GATEWAY_KEYS", str(tmp_path / "keys.toml"))
    assert run("gateway", "--host=0.0.0.0", "--port=18010")[0] == 0
    assert served


def test_the_page_is_served_elsewhere_only_by_a_switch_of_its_own(run, served, monkeypatch, tmp_path):
    _, entry, _ = run("gateway", "key", "app")
    (tmp_path / "keys.toml").write_text(entry)
    monkeypatch.setenv("MEMSIFT_GATEWAY_KEYS", str(tmp_path / "keys.toml"))
    monkeypatch.setenv("MEMSIFT_GATEWAY_UI", "1")
    code, _, err = run("gateway", "--host=0.0.0.0", "--port=18010")
    assert (code, served) == (2, [])
    assert "MEMSIFT_GATEWAY_UI_PUBLIC=1" in err
    monkeypatch.setenv("MEMSIFT_GATEWAY_UI_PUBLIC", "1")
    assert run("gateway", "--host=0.0.0.0", "--port=18010")[0] == 0
    assert served


def test_a_wrong_key_file_or_setting_is_refused(run, served, monkeypatch):
    monkeypatch.setenv("MEMSIFT_GATEWAY_KEYS", "/nowhere.toml")
    code, _, err = run("gateway")
    assert (code, served) == (2, [])
    assert err.startswith("memsift: MEMSIFT_GATEWAY_KEYS: cannot read the file")
    monkeypatch.setenv("MEMSIFT_GATEWAY_MAX_BYTES", "0")
    assert run("gateway")[2].startswith("memsift: MEMSIFT_GATEWAY_MAX_BYTES: ")


def test_a_taken_port_is_said_to_be(run, served):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = run("gateway", f"--port={taken.getsockname()[1]}")
    assert (code, served) == (2, [])
    assert "choose another --port" in err


def test_a_new_key_is_shown_once_and_its_entry_is_apart(run):
    code, out, err = run("gateway", "key", "open-webui")
    assert code == 0
    key = err.split()[-1]
    (entry,) = tomllib.loads(out)["keys"]
    assert entry == {"name": "open-webui", "sha256": hashlib.sha256(key.encode()).hexdigest()}
    assert key not in out
    assert run("gateway", "key", "a b")[0] == 2
