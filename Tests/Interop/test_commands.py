"""`carillon check` and `carillon rules try`, as an operator uses them."""

import json
import signal
import subprocess
import textwrap
import threading

import jsonschema
import nostr_sdk
import pytest

from nostr import Person
from programs import PATIENCE, built, carillon


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("status", 3),
        ("reload", 3),
        ("logs level", 3),
        ("logs level Relays debug", 3),
        ("relays list", 3),
        ("cluster status", 3),
        ("cluster drain a", 3),
        ("queue list", 3),
        ("queue retry --all", 3),
        ("users list", 3),
        ("devices list", 3),
        ("stats", 3),
        ("explain " + "ab" * 32, 3),
        ("statuss", 64),
        ("queue drop", 64),
        ("devices show seven", 64),
        ("users block 10.0.0.1/8", 64),
        ("relays block https://relay.example.com", 64),
        ("rules try --fixture nope", 64),
        ("logs level Relays loud", 3),
    ],
)
def test_commands_share_exit_codes(stopped_router, words, status):
    done = carillon(*words.split(), "--config", stopped_router.configuration_file)
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stderr and not done.stdout


@pytest.mark.parametrize(
    "words",
    [
        "explain notanevent",
        "stats --days 0",
        "stats --by color",
        "devices list --account notakey",
        "users block notakey",
        "logs level Relays loud",
    ],
)
def test_wrong_arguments_exit_with_64_while_a_router_runs(router, words):
    done = carillon(*words.split(), "--config", router.configuration_file)
    assert done.returncode == 64, done.stdout + done.stderr


def test_lists_are_one_json_object(router):
    for words in ["devices list", "users list", "users rules", "queue list", "relays list", "tokens list", "stats", "logs level"]:
        done = carillon(*words.split(), "--json", "--config", router.configuration_file)
        assert done.returncode == 0, (words, done.stderr)
        assert isinstance(json.loads(done.stdout), dict), words


def test_check_names_every_error_with_its_line(tmp_path):
    (tmp_path / "carillon.yaml").write_text(
        textwrap.dedent(
            """\
            identity: { key_file: carillon.key }
            store: { pth: carillon.sqlite }
            relay:
              listen: localhost
              url: https://notify.example.com
            http:
              ca_file: missing.pem
              allow_private: [10.1.2.3/24]
            defaults: { mode: loud }
            aps: {}
            """
        )
    )
    check = carillon("check", "--config", "carillon.yaml", cwd=tmp_path)
    assert check.returncode == 1
    lines = check.stderr.splitlines()
    for number, word in [
        (2, "pth"),
        (4, "127.0.0.1:7447"),
        (5, "wss://"),
        (7, "missing.pem"),
        (8, "network"),
        (9, "alert"),
        (10, "aps"),
    ]:
        matching = [line for line in lines if line.startswith(f"carillon.yaml:{number}:")]
        assert any(word in line for line in matching), (number, word, lines)
    assert lines[-1].endswith("errors")
    assert not (tmp_path / "carillon.key").exists()


def test_check_names_errors_in_rules_plugins_and_their_blocks(stopped_router):
    router = stopped_router
    (router.folder / "rules.yaml").write_text(
        textwrap.dedent(
            """\
            version: 1
            rules:
              - name: like
                match: { kinds: [7, 70000] }
                title: "{{author.nme}}"
              - nam: other
                match: { relation: cousin }
            """
        )
    )
    (router.plugins / "text.so").write_text("no plugin")
    router.configuration["rules"] = "rules.yaml"
    router.configuration["apps"]["default"]["ios"]["key_file"] = "missing.p8"
    router.configuration["apps"]["other"] = {"pager": {}}
    check = carillon("check", "--config", router.configuration_file)
    assert check.returncode == 1
    rules = router.folder / "rules.yaml"
    for number in [4, 5, 6, 7]:
        assert f"{rules}:{number}:" in check.stderr, check.stderr
    assert f"{router.plugins / 'text.so'}: is not an ELF file" in check.stderr
    written = router.configuration_file.read_text().splitlines()
    for app in ["apps.default.ios", "apps.other.pager"]:
        line = next(line for line in check.stderr.splitlines() if app in line)
        number = int(line.removeprefix(f"{router.configuration_file}:").split(":")[0])
        # A block starts at its brace, behind its name or on the line below.
        assert f'"{app.split(".")[-1]}"' in written[number - 2] + written[number - 1]


def test_check_accepts_a_working_configuration(stopped_router, lab):
    check = carillon("check", "--config", stopped_router.configuration_file)
    assert (check.returncode, check.stderr) == (0, "")
    assert lab.received() == []


def test_a_router_with_an_invalid_configuration_does_not_start(stopped_router):
    stopped_router.configuration["defaults"] = {"mode": "loud"}
    serve = carillon("serve", "--config", stopped_router.configuration_file)
    assert serve.returncode == 1
    assert serve.stderr.startswith(f"{stopped_router.configuration_file}:")
    assert "'loud' is none of wake, nudge, sealed, alert" in serve.stderr


def rules_try(router, alice, event: dict, *options):
    return carillon(
        *["rules", "try", "--config", router.configuration_file, "--event", "-", "--recipient", alice.hex],
        *options,
        stdin=json.dumps(event),
    )


class Trial:
    """One `carillon rules try` for one platform, as machines read it."""

    def __init__(self, router, alice, event: dict, *options, platform: str = "ios"):
        run = rules_try(router, alice, event, "--json", "--platform", platform, *options)
        assert run.returncode == 0, run.stderr
        self.decision = json.loads(run.stdout)
        push = self.decision["platforms"][platform]
        self.mode = push["mode"]
        self.request = f"{push['method']} {push['url']}"
        self.headers = push["headers"]
        # Of what is encrypted to the made-up device, what that reads.
        self.body = push.get("decrypted", push.get("body"))


def expected_of_seed_000(kind: int, title: str, body: str, event: dict, refers: bool) -> dict:
    payload = {
        "aps": {"alert": {"title": title, "body": body}, "badge": 1, "sound": "default", "mutable-content": 1},
        "category": f"kind_{kind}",
        "event_id": event["id"],
        "author_pubkey": event["pubkey"],
        "kind": kind,
        "created_at": event["created_at"],
    }
    if refers:
        payload["referenced_event_id"] = next(tag[1] for tag in event["tags"] if tag[0] == "e")
    return payload


@pytest.mark.parametrize(
    "kind, content, title, body, refers",
    [
        (7, "❤️", "⚡ alice liked your note", "❤️", True),
        (7, "+", "⚡ alice liked your note", "+", True),
        (7, "🔥", "⚡ alice reacted to your note", "🔥", True),
        (6, "", "🔄 alice reposted your note", "Your note was reposted", True),
        (1809, "", "🔄 alice reposted your note", "Your note was reposted", True),
        (1, "Hey, check this out!", "💬 alice sent you a note", "Hey, check this out!", True),
        (1, "x" * 101, "💬 alice sent you a note", "x" * 100 + "...", False),
        (1808, "https://example.com/a.ogg", "🎵 alice shared an audio note", "New audio content available", False),
        (3, "", "👤 alice started following you", "You have a new follower", False),
        (1059, "c2VjcmV0", "🔒 You received an encrypted message", "You have a new encrypted message", False),
    ],
)
def test_rules_try_prints_the_request_of_the_specification_and_sends_nothing(
    stopped_router, lab, alice, kind, content, title, body, refers
):
    tags = [["e", "ab" * 32]] if refers else []
    event = Person().event(kind, content, [*tags, ["p", alice.hex]])
    trial = Trial(stopped_router, alice, event, "--author", "alice", "--token", "cd" * 32)
    assert json.loads(trial.body) == expected_of_seed_000(kind, title, body, event, refers)
    assert trial.request == f"POST {lab.ios['base_url']}/3/device/{'cd' * 32}"
    assert trial.headers["apns-push-type"] == "alert"
    assert trial.headers["apns-topic"] == lab.ios["topic"]
    assert trial.mode == "alert"
    assert lab.received() == []


def test_rules_try_shows_a_wake_up_and_other_platforms(stopped_router, lab, alice):
    event = Person().event(1059, "c2VjcmV0", [["p", alice.hex]])
    assert Trial(stopped_router, alice, event, "--mode", "wake").body == '{"aps":{"content-available":1},"t":"dm"}'
    endpoint = lab.endpoint("upAlice")
    trial = Trial(stopped_router, alice, event, "--mode", "wake", "--token", endpoint, platform="unifiedpush")
    assert (trial.request, trial.body) == (f"POST {endpoint}", '{"t":"dm"}')
    assert lab.received() == []


@pytest.mark.parametrize("kind", [30311, 22242, 10002])
def test_rules_try_reports_that_other_kinds_send_no_push(stopped_router, alice, kind):
    run = rules_try(stopped_router, alice, Person().event(kind, "", [["p", alice.hex]]))
    assert run.returncode == 1
    assert "no notification: " in run.stderr


def test_rules_try_shows_all_platforms_of_the_app_to_a_person(stopped_router, lab, alice):
    event = Person().event(7, "+", [["e", "ab" * 32], ["p", alice.hex]])
    run = rules_try(stopped_router, alice, event, "--author", "alice")
    assert run.returncode == 0, run.stderr
    assert "rule: like (built-in rules:" in run.stdout
    for platform in stopped_router.configuration["apps"]["default"]:
        assert f"\n── {platform} ─" in run.stdout
    assert '"title": "⚡ alice liked your note"' in run.stdout
    assert lab.received() == []


def test_rules_are_tried_and_checked_without_any_configuration(tmp_path):
    (tmp_path / "rules.yaml").write_text(carillon("rules", "default").stdout)
    check = carillon("rules", "check", "rules.yaml", cwd=tmp_path)
    assert check.returncode == 0 and check.stdout.startswith("rules.yaml: 8 rules; kinds 1, 3, 4,")
    run = carillon("rules", "try", "--rules", "rules.yaml", "--all", "--json", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    reports = {report["name"]: report for report in map(json.loads, run.stdout.splitlines())}
    platforms = {"android", "email", "gotify", "http", "ios", "mqtt", "ntfy", "telegram", "unifiedpush"}
    platforms |= {"web", "webhook"}
    assert set(reports["zap"]["platforms"]) == platforms
    assert reports["zap"]["rule"]["file"] == "rules.yaml"
    assert not reports["wallet-request"]["wakes"] and "kind 23194" in reports["wallet-request"]["reason"]


def test_every_listed_fixture_is_an_event_to_start_from(tmp_path):
    names = [line.split()[0] for line in carillon("rules", "fixtures").stdout.splitlines()]
    assert len(names) > 20
    for name in ["like", "zap"]:
        # nostr-sdk checks id and signature.
        event = nostr_sdk.Event.from_json(carillon("rules", "fixtures", name).stdout)
        assert event.verify()
    unknown = carillon("rules", "fixtures", "lik")
    assert unknown.returncode != 0 and "did you mean 'like'?" in unknown.stderr


def test_schemas_are_valid_for_other_programs(stopped_router):
    rules = json.loads(carillon("rules", "schema").stdout)
    configuration = json.loads(carillon("check", "--schema").stdout)
    for schema in [rules, configuration]:
        jsonschema.Draft202012Validator.check_schema(schema)
    written = stopped_router.configuration
    jsonschema.validate(written, configuration)
    for wrong in [{"relai": {}}, {"hints": "loud"}, {"apps": {"default": {"ios": {"topi": "com.example.app"}}}}]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(written | wrong, configuration)
    jsonschema.validate({"version": 1, "rules": [{"match": {"kinds": 7}, "title": "Like"}]}, rules)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": 1, "rules": [{"mtch": {"kinds": 7}}]}, rules)


def test_rules_are_checked_again_when_they_change(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("version: 1\nrules: [{ match: { kinds: [7] } }]\n")
    watch = subprocess.Popen(
        [built("carillon"), "rules", "check", "rules.yaml", "--watch"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    # Ends the reading below where nothing comes.
    patience = threading.Timer(PATIENCE, watch.kill)
    patience.start()
    lines = iter(watch.stdout)
    try:
        assert any("1 rule; kinds 7" in line for line in lines)
        assert any("watching rules.yaml" in line for line in lines)
        # As editors do.
        (tmp_path / "new").write_text("version: 1\nrules: [{ mtch: { kinds: [7] } }]\n")
        (tmp_path / "new").rename(rules)
        assert any("did you mean 'match'?" in line for line in lines)
        assert any("watching rules.yaml" in line for line in lines)
        (tmp_path / "new").write_text("version: 1\nrules: [{ match: { kinds: [6] } }]\n")
        (tmp_path / "new").rename(rules)
        assert any("1 rule; kinds 6" in line for line in lines)
    finally:
        watch.send_signal(signal.SIGINT)
        assert watch.wait(10) == -signal.SIGINT
        patience.cancel()


def test_the_built_in_rules_in_a_file_are_equivalent(stopped_router, alice):
    event = Person().event(7, "+", [["e", "ab" * 32], ["p", alice.hex]])
    built_in = Trial(stopped_router, alice, event).body
    rules = carillon("rules", "default")
    assert rules.returncode == 0
    (stopped_router.folder / "rules.yaml").write_text(rules.stdout)
    stopped_router.configuration["rules"] = "rules.yaml"
    assert Trial(stopped_router, alice, event).body == built_in


def test_a_key_is_made_once_and_never_overwritten(tmp_path):
    made = carillon("keys", "new", "carillon.key", cwd=tmp_path)
    assert made.returncode == 0
    assert carillon("keys", "new", "carillon.key", cwd=tmp_path).returncode == 1
    assert carillon("keys", "show", "carillon.key", cwd=tmp_path).stdout == made.stdout
    # nostr-sdk agrees on whose key it is.
    hex_line, npub_line = made.stdout.split("\n")[:2]
    keys = nostr_sdk.Keys.parse((tmp_path / "carillon.key").read_text().strip())
    assert hex_line.split() == ["hex", keys.public_key().to_hex()]
    assert npub_line.split() == ["npub", keys.public_key().to_bech32()]
    assert (tmp_path / "carillon.key").read_text().strip() not in made.stdout
