"""TLS, nginx, limits of rate, and what a server that was started anew still knows."""

import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager
from http.client import HTTPSConnection

import pytest

import bestk
from bestk.client.connection import Connection
from bestk.errors import StorageError
from bestk.study import Study, evaluate
from helpers.command import good, process
from helpers.pages import ROOT, blocks
from helpers.served import serving

NGINX = """daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ }}
http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
fastcgi_temp_path {folder}/a; uwsgi_temp_path {folder}/b; scgi_temp_path {folder}/c;
{server} }}
"""
COINS = {"name": "coins", "arms": ["a", "b", "c"], "k": 1, "rewards": "bernoulli"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    made += ["-nodes", "-days", "1", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*made, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


def test_a_client_trusts_a_server_by_its_certificate_alone(certificate, tmp_path, monkeypatch):
    cert, key = certificate
    with serving(tmp_path / "s.db", "--cert", str(cert), "--key", str(key)) as server:
        url = f"https://localhost:{server.port}"
        with pytest.raises(StorageError, match=r"(?i)certificate"):
            Connection(url, patience=0.0).get("health")
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        assert Connection(url).get("health")["status"] == "ok"
        study = bestk.connect(url).study("coins", COINS["arms"], k=1)
        (pull,) = study.ask()
        study.tell(pull, 1.0)
        assert study.samples == 1


@contextmanager
def nginx(folder, port, cert, key):
    """nginx as docs/deploy.md sets it up; only its ports and files are other ones."""
    program = shutil.which("nginx", path="/usr/local/sbin:/usr/sbin:/usr/local/bin:/usr/bin")
    if program is None:
        pytest.skip("nginx is not installed")
    texts = [block.text for block in blocks(ROOT / "docs" / "deploy.md")]
    (server,) = (text for text in texts if "proxy_pass" in text)
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = free.getsockname()[1]
    for said, here in (
        ("listen 443 ssl", f"listen 127.0.0.1:{own} ssl"),
        ("/etc/ssl/studies.pem", str(cert)),
        ("/etc/ssl/studies.key", str(key)),
        ("127.0.0.1:8765", f"127.0.0.1:{port}"),
    ):
        assert server.count(said) == 1
        server = server.replace(said, here)
    file = folder / "nginx.conf"
    file.write_text(NGINX.format(folder=folder, server=server))
    with subprocess.Popen([program, "-p", folder, "-c", file], stderr=subprocess.PIPE) as process:
        try:
            yield own
        finally:
            process.terminate()


def test_behind_nginx_as_documented_one_signs_in_changes_things_and_hears_events(
    certificate, tmp_path
):
    path, (cert, key) = tmp_path / "s.db", certificate
    token = json.loads(good("token", "create", "--role", "admin", "--json", path))["token"]
    trust = ssl.create_default_context(cafile=cert)
    far = "studies.example.org"
    sent = {"Host": far, "Origin": f"https://{far}", "Content-Type": "application/json"}

    def call(method, path, body=None):
        for _ in range(100):  # until nginx is there
            connection = HTTPSConnection("127.0.0.1", port, timeout=10, context=trust)
            ended.callback(connection.close)
            try:
                connection.request(method, path, body and json.dumps(body), sent)
            except ConnectionRefusedError:
                time.sleep(0.05)
            else:
                return ended.enter_context(connection.getresponse())
        raise AssertionError((tmp_path / "error.log").read_text())

    with ExitStack() as ended:
        server = ended.enter_context(serving(path, "--proxy"))
        port = ended.enter_context(nginx(tmp_path, server.port, cert, key))
        cookie = call("POST", "/login", {"token": token}).headers["set-cookie"]
        assert re.search(r"(?i); secure", cookie)
        sent |= {"Cookie": cookie.partition(";")[0], "X-Bestk": "1"}
        assert call("POST", "/api/studies", COINS).status == 201
        events = call("GET", "/api/studies/coins/events")
        assert events.readline() == b"event: standings\n"
        assert json.loads(events.readline().removeprefix(b"data: "))["samples"] == 0
        asked = call("POST", "/api/studies/coins/ask", {"request": "1"})
        (pull,) = json.loads(asked.read())["pulls"]
        answer = {"answers": [{"pull": pull["id"], "reward": 1}]}
        assert call("POST", "/api/studies/coins/tell", answer).status == 200
        said = iter(events.readline, b"")  # at once, or the connection's 10 seconds run out
        assert any(line.startswith(b"data: ") and b'"samples":1,' in line for line in said)
        sent["Origin"] = "https://elsewhere.example"
        assert call("POST", "/api/studies/coins/ask", {"request": "2"}).status == 403


@pytest.mark.parametrize(("flags", "is_secure"), [(["--proxy"], True), ([], False)])
def test_a_proxy_is_believed_only_where_it_is_said_to_be_there(tmp_path, flags, is_secure):
    path = tmp_path / "s.db"
    token = json.loads(good("token", "create", "--role", "view", "--json", path))["token"]
    with serving(path, *flags) as server:
        login = server.post("/login", {"token": token}, X_Forwarded_Proto="https")
        assert login.status == 204
        assert ("secure" in login.headers["set-cookie"].lower()) is is_secure
        wrong = server.post("/login", {"token": token + "x"})
        assert (wrong.status, wrong.headers["set-cookie"]) == (401, None)


def test_too_many_requests_are_put_off_and_the_client_waits(tmp_path):
    path = tmp_path / "s.db"
    token = json.loads(good("token", "create", "--role", "view", "--json", path))["token"]
    with serving(path, "--people-rate", "1") as server:
        answers = [server.get("/api/studies", token) for _ in range(5)]  # a burst of four
        assert [answer.status for answer in answers] == [200] * 4 + [429]
        assert answers[-1].headers["Retry-After"] == "1"
        url = f"http://127.0.0.1:{server.port}"
        with pytest.raises(StorageError, match="429"):
            Connection(url, token, patience=0.1).get("api", "studies")
        assert Connection(url, token).get("api", "studies")["studies"] == []


def test_a_name_is_given_once_and_its_past_outlives_the_server(tmp_path):
    path = tmp_path / "s.db"
    with serving(path) as server:
        study = bestk.connect(f"http://127.0.0.1:{server.port}").study("coins", COINS["arms"], k=1)
        given = json.loads(study.specification.to_json())
        body = {"name": "coins", "specification": given}
        assert server.post("/api/studies", body).status == 200
        other = server.post(
            "/api/studies", {"name": "coins", "specification": {**given, "seed": given["seed"] + 1}}
        )
        assert (other.status, other.data["error"]) == (409, "InputError")
        assert "seed" in other.data["message"]
        while pulls := study.ask():
            study.tell(pulls[0], float(pulls[0].arm == "a"))
    with serving(path) as server:
        history = server.get("/api/studies/coins/snapshot").data["history"]
        samples = [point[0] for point in history]
        assert len(samples) > 5
        assert samples == sorted(set(samples))
        assert samples[-1] == study.samples


def test_two_workers_share_an_evaluation_to_its_end(tmp_path):
    """Scores are certain, and cells are scored once, by one of both."""
    scored, found = [], []

    def score(arm, item):
        scored.append((arm, item["n"]))
        return float(arm == "a"), {"said": item["n"]}

    def work():
        items = [{"n": i} for i in range(60)]
        found.append(
            evaluate(["a", "b"], items, score, k=1, storage=url, name="eval", progress=False)
        )

    with serving(tmp_path / "s.db") as server:
        url = f"http://127.0.0.1:{server.port}"
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [(each.top, each.certified) for each in found] == [(("a",), True)] * 2
    assert len(scored) == len(set(scored))
    assert all(cell.extra == {"said": cell.item["n"]} for cell in found[0].cells)
    assert found[0].samples == Study("eval", storage=tmp_path / "s.db").samples


def test_bestk_eval_runs_against_an_address(tmp_path):
    (tmp_path / "items.jsonl").write_text("".join(f'{{"n": {i}}}\n' for i in range(40)))
    arms = "".join(f'[[arms]]\nname = "{x}"\nmean = "{x}"\n' for x in (0, 1))
    with serving(tmp_path / "s.db") as server:
        text = f'storage = "http://127.0.0.1:{server.port}"\n[study]\nname = "file"\nk = 1\n'
        text += '[items]\nfile = "items.jsonl"\n[pull]\ncommand = ["echo", "{mean}"]\n'
        (tmp_path / "eval.toml").write_text(text + arms)
        said = json.loads(good("eval", tmp_path / "eval.toml", "--json"))
    assert (said["top"], said["certified"], said["items"]) == (["1"], True, 40)


def test_files_that_are_no_certificate_are_named_before_anything_is_served(certificate, tmp_path):
    cert, key = map(str, certificate)
    for files in (("no.pem", key), (cert, "no.pem"), (key, key)):
        pair = ("--cert", files[0], "--key", files[1])
        done = process("serve", str(tmp_path / "s.db"), *pair, timeout=30)
        assert done.returncode == 2
        assert (done.stdout, f"--cert {files[0]}" in done.stderr) == ("", True)
