"""README and the pages in contrib/docs: their commands run, their configurations and rules are taken, their links lead somewhere."""

import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml

from documents import Block, blocks, commands, headings, links, pages
from lab import Lab
from nostr import Person, Socket, device_token, ios
from programs import BUILD, REPOSITORY, built, carillon, wait_until
from router import Router

CHECKED_ONLY = {"queue.md", "stats.md", "access.md", "logs.md", "backup.md", "keys.md", "tracing.md", "packages.md"}
"""Pages whose commands are about a state that this test does not make: other tests run them."""

RULE_KEYS = {
    "name", "match", "drop", "signal", "mode", "urgency", "expires", "title", "subtitle", "body", "category", "thread", "collapse", "url",
    "actions", "data", "event_data", "pace", "key", "mentions", "apns", "fcm", "webpush", "unifiedpush", "ntfy", "gotify", "email",
    "native",
}  # fmt: skip
FILE_KEYS = {"summary", "nudge", "mentions", "categories"}
SCHEMA = json.loads((REPOSITORY / "contrib/schema/carillon.schema.json").read_text())
PLATFORMS = set(SCHEMA["properties"]["apps"]["additionalProperties"]["properties"]) - {"rules", "native"}

ALL = [block for page in pages() for block in blocks(page)]


def ids(block: Block) -> str:
    return block.place


class Scene:
    """A lab, a router that runs, and what pages take for given in a folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.lab = Lab(folder / "lab")
        self.router = Router(folder / "router", self.lab)
        for library in BUILD.glob("libCarillon*.so"):
            self.router.add_plugin(library.name)
        self.router.start()
        self.alice, bob = Person(), Person()
        with Socket(self.router) as socket:
            socket.publish(self.alice.registration(self.router, ios(device_token())), bob.note("hello", self.alice))
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.bin / "carillon").symlink_to(built("carillon").resolve())
        if (tool := REPOSITORY / ".build/tools/promtool").exists():
            (self.bin / "promtool").symlink_to(tool)

    def page(self, name: str) -> Path:
        """A folder for one page's commands."""
        folder = self.folder / "pages" / name
        if folder.exists():
            return folder
        folder.mkdir(parents=True)
        for link in ["contrib", "include"]:
            (folder / link).symlink_to(REPOSITORY / link)
        (folder / "plugins").symlink_to(self.router.plugins)
        self.credentials(folder)
        configuration = dict(self.router.configuration)
        configuration["identity"] = {"key_file": str(self.router.folder / "carillon.key")}
        configuration["store"] = {"path": str(self.router.folder / "carillon.sqlite")}
        (folder / "carillon.yaml").write_text(json.dumps(configuration))
        (folder / "rules.yaml").write_text(carillon("rules", "default").stdout)
        return folder

    def credentials(self, folder: Path):
        places = self.lab.addresses
        copies = {
            "AuthKey.p8": places["apns"]["key_file"],
            "push.p12": places["apns"]["certificate_p12_file"],
            "push.pem": places["apns"]["certificate_file"],
            "push.password": places["apns"]["certificate_password_file"],
            "vapid.pem": places["webpush"]["key_file"],
            "firebase.json": places["fcm"]["service_account"],
        }
        for name, source in copies.items():
            shutil.copy(source, folder / name)
            (folder / name).chmod(0o600)
        subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", folder / "vapid-2025.pem"],
            check=True,
        )
        # Of the certificate's file the key alone.
        text = (folder / "push.pem").read_text()
        keys = re.findall(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----\n", text, flags=re.S)
        (folder / "push-key.pem").write_text("".join(keys))
        (folder / "push-key.pem").chmod(0o600)
        texts = {"broadcast.key": "0123456789abcdef0123456789", "telegram.token": "123456789:AAbcdefghijklmnopqrstuvwxyz01234567"}
        for name, text in texts.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o600)

    @property
    def environment(self) -> dict[str, str]:
        secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        return {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            # The compiler of the machine, which its tools look for in the home of whoever installed it.
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
            "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
            "SMTP_PASSWORD": "secret", "MQTT_PASSWORD": "secret", "PAGER_KEY": "secret",
            "NEW_SECRET": secret, "OLD_SECRET": secret, "WEBHOOK_SECRET": secret,
        }  # fmt: skip

    def run(self, *words, cwd: Path) -> subprocess.CompletedProcess:
        return subprocess.run(
            words, cwd=cwd, env=self.environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
        )

    def stop(self):
        self.router.stop()
        self.lab.stop()


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    scene = Scene(tmp_path_factory.mktemp("documents"))
    yield scene
    scene.stop()


# Commands


def is_run(block: Block) -> bool:
    if not block.is_fenced or block.page.name in CHECKED_ONLY:
        return False
    return block.mark is None or block.mark.startswith("needs ")


SHELL = [block for block in ALL if block.language in ["sh", "bash", "shell"]]
RUN = [block for block in SHELL if is_run(block)]


@pytest.mark.parametrize("page", sorted({block.page for block in RUN}), ids=lambda page: page.name)
def test_documented_commands_work(scene, page):
    """One after the other in a folder of their own, as somebody would who follows the page."""
    folder = scene.page(page.stem)
    for block in RUN:
        if block.page != page:
            continue
        if block.mark and not shutil.which(block.mark.removeprefix("needs "), path=scene.environment["PATH"]):
            continue
        text = block.text.replace("127.0.0.1:7447", f"127.0.0.1:{scene.router.port}")
        done = scene.run("bash", "-euo", "pipefail", "-c", text, cwd=folder)
        assert done.returncode == 0, f"{block.place}\n{text}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"


def test_shell_blocks_are_valid():
    for block in SHELL:
        # <word> stands for what the reader knows.
        text = re.sub(r"<[a-z]+>", "word", block.text)
        done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, f"{block.place}: {done.stderr}"


@cache
def command_help(path: tuple[str, ...]) -> str | None:
    done = carillon(*path, "--help")
    return done.stdout if done.returncode == 0 else None


def test_documented_commands_and_options_exist():
    """Also of blocks that cannot run here, and of commands named in the text."""
    named = [(block.place, words) for block in SHELL for words in commands(block.text)]
    for page in pages():
        for text in re.findall(r"`(carillon [^`]+)`", page.read_text()):
            named += [(str(page.relative_to(REPOSITORY)), words) for words in commands(text.replace("…", ""))]
    assert len(named) > 50
    for place, words in named:
        path: tuple[str, ...] = ()
        for word in words:
            subcommands = re.search(r"^SUBCOMMANDS:\n((?:  .*\n|\n)*)", command_help(path) or "", flags=re.M)
            if not subcommands:
                break
            known = re.findall(r"^  (\S+)", subcommands.group(1), flags=re.M)
            if word.startswith("-") or word not in known:
                is_help = word in ["--help", "--version", "help", "-h"]
                assert is_help or not path and word.startswith("-"), f"{place}: carillon {' '.join(words)}"
                break
            path += (word,)
        text = command_help(path)
        if path[:1] == ("push",) or not path:
            continue
        for option in words[len(path) :]:
            if option.startswith("--"):
                name = option.split("=")[0]
                assert re.search(rf"{name}\b", text), f"{place}: carillon {' '.join(path)} has no {name}"


def test_skipped_blocks_have_a_reason():
    for block in SHELL:
        if block.mark is not None and block.mark.startswith("not run"):
            assert re.fullmatch(r"not run: .{8,}", block.mark), block.place


# Configurations, rules and JSON


class Loader(yaml.SafeLoader):
    """Takes a template for a number, as `!!int "{{zap.amount}}"` says."""


# YAML 1.1, which PyYAML reads, has no 5e6.
Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"-?\d+(\.\d+)?[eE]\d+$"), list("-0123456789"))
for tag in ["int", "float"]:
    Loader.add_constructor(f"tag:yaml.org,2002:{tag}", lambda loader, node: number(node.value))


def number(text: str):
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def values(text: str) -> list:
    """The YAML of a block: the whole, or where keys come twice, as alternatives do, each of its top-level parts."""
    try:
        parsed = yaml.load(text, Loader)
    except yaml.YAMLError:
        parsed = None
    tops = re.findall(r"^[^\s#][^\n]*(?:\n(?:[ \t#][^\n]*)?)*", text, flags=re.M)
    names = [re.match(r"[^:]*", part).group(0) for part in tops]
    if parsed is not None and len(set(names)) == len(names) or text.startswith("- "):
        return [parsed] if isinstance(parsed, dict | list) else []
    found = []
    for part in tops:
        try:
            value = yaml.load(part, Loader)
        except yaml.YAMLError:
            continue
        if isinstance(value, dict | list):
            found.append(value)
    return found


def sort(value, keys: set[str]) -> str:
    """What a piece of YAML is a piece of."""
    if isinstance(value, list):
        return "rules" if value and all(isinstance(rule, dict) and "match" in rule for rule in value) else ""
    names = set(value)
    if {"version", "rules"} <= names:
        return "rules file"
    if "platform" in names or "router" in names:
        return ""
    # Platforms' names in the configuration and keys of rules overlap: `ntfy` and others. The page decides.
    if names <= keys and names != {"rules"}:
        return "configuration"
    if names <= PLATFORMS:
        return "platform"
    if names <= FILE_KEYS:
        return "file keys"
    if names <= RULE_KEYS:
        return "rule"
    return ""


def deep_merge(base: dict, more: dict) -> dict:
    merged = dict(base)
    for key, value in more.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = deep_merge(merged[key], value) if both else value
    return merged


YAML = [
    block
    for block in ALL
    if block.mark is None or block.mark.startswith("config")
    if block.language == "yaml"
    or not block.is_fenced
    and block.language == ""
    and block.page.name in ["rules.md", "push-services.md", "python.md", "plugin-streams.md"] + list(CHECKED_ONLY)
]


def test_documented_configurations_and_rules_are_accepted(scene):
    keys = set(SCHEMA["properties"])
    folder = scene.page("yaml")
    counts: dict[str, int] = {}
    wrong = []
    for block in YAML:
        in_rules = block.page.name == "rules.md"
        for value in values(block.text):
            kind = sort(value, keys)
            if in_rules and kind in ["platform", ""] and isinstance(value, dict) and set(value) <= RULE_KEYS:
                kind = "rule"
            is_other = block.page.name in CHECKED_ONLY or isinstance(value, dict) and set(value) & {"scrape_configs", "rule_files", "groups", "services"}
            if kind == "" and block.is_fenced and not is_other:
                wrong.append(f"{block.place}: neither a configuration nor rules: mark it")
            if kind in ["configuration", "platform"]:
                problem = configuration_problem(scene, folder, block, value, kind)
            elif kind != "":
                problem = rules_problem(scene, folder, value, kind)
            else:
                continue
            counts[kind] = counts.get(kind, 0) + 1
            if problem:
                wrong.append(f"{block.place}: {problem}")
    assert not wrong, "\n".join(wrong)
    assert counts["configuration"] > 5 and counts["platform"] > 8 and counts["rule"] > 8, counts


def configuration_problem(scene, folder: Path, block: Block, value: dict, kind: str) -> str:
    base = {
        "identity": {"key_file": "own.key"},
        "store": {"path": "own.sqlite"},
        "plugins": {"folders": ["plugins"]},
        "apps": {"default": {"unifiedpush": {}}},
    }
    if block.mark == "config with ios":
        base["apps"]["default"]["ios"] = scene.lab.ios
    more = {"apps": {"default": value}} if kind == "platform" else value
    merged = deep_merge(base, more)
    if isinstance(merged.get("rules"), str | list):
        for name in [merged["rules"]] if isinstance(merged["rules"], str) else merged["rules"]:
            if not (folder / name).exists():
                shutil.copy(folder / "rules.yaml", folder / name)
    (folder / "own.yaml").write_text(json.dumps(merged))
    done = scene.run("carillon", "check", "--config", "own.yaml", cwd=folder)
    return done.stderr if done.returncode else ""


def rules_problem(scene, folder: Path, value, kind: str) -> str:
    if kind == "rules":
        value = {"version": 1, "rules": value}
    elif kind == "file keys":
        value = {"version": 1, "rules": [{"name": "x", "match": {"kinds": [1]}, "title": "x"}], **value}
    elif kind == "rule":
        rule = {"name": "x", **value}
        match = rule.setdefault("match", {"kinds": [1]})
        match.setdefault("kinds", [1])
        if not set(rule) & {"title", "body", "drop", "mode", "apns", "fcm"}:
            rule["title"] = "x"
        if "mode" not in rule and "drop" not in rule and "signal" not in rule and "zap" not in match and match["kinds"] != [1]:
            rule["signal"] = "x"
        if "zap" in match:
            match["kinds"] = [9735]
        value = {"version": 1, "rules": [rule]}
    for rule in value["rules"]:
        # The walks name their own events; a list of everything that `match` takes is no rule that an event can meet.
        author = rule.get("match", {}).get("author")
        if isinstance(author, dict) and "file" in author:
            (folder / author["file"]).write_text("")
    (folder / "own-rules.yaml").write_text(json.dumps(value, ensure_ascii=False))
    done = scene.run("carillon", "rules", "check", "own-rules.yaml", "--plugins", "plugins", cwd=folder)
    return done.stderr + done.stdout if done.returncode else ""


def test_json_blocks_are_valid():
    found = [block for block in ALL if block.language == "json" and block.mark is None and block.page.name not in CHECKED_ONLY]
    assert len(found) > 3
    for block in found:
        try:
            json.loads(block.text)
        except ValueError as error:
            raise AssertionError(f"{block.place}: {error}") from None


# Links and what is made of something else


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_are_not_broken(page):
    for path, heading in links(page):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {path}"
        if heading and target.suffix == ".md":
            assert heading in headings(target), f"{page.name}: {path}#{heading}"


def test_the_readme_is_short_and_leads_to_every_page():
    lines = (REPOSITORY / "README.md").read_text().splitlines()
    assert len(lines) <= 150
    assert "contrib/test" in "\n".join(lines)
    reached, new = set(), {REPOSITORY / "README.md"}
    while new:
        page = new.pop()
        reached.add(page)
        for path, _ in links(page):
            target = (page.parent / path).resolve()
            if path and target.suffix == ".md" and target.exists() and target not in reached:
                new.add(target)
    assert set(pages()) <= reached, [page.name for page in set(pages()) - reached]


def test_generated_documents_are_up_to_date():
    done = subprocess.run([REPOSITORY / "contrib/update-docs", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_quoted_messages_match_the_programs():
    """What troubleshooting.md quotes is said by the sources."""
    code = "".join(
        path.read_text() for folder in ["Sources", "Plugins"] for path in (REPOSITORY / folder).rglob("*.swift")
    )
    # Texts may be put together from several, and hold values.
    code = re.sub(r'"\s*\n?\s*\+ "|\\\n\s*', "", code)
    page = (REPOSITORY / "contrib/docs/troubleshooting.md").read_text()
    missing, count = [], 0
    for section in page.split("\n## ")[1:]:
        for row in re.findall(r"^\| (.*?) \|", section, flags=re.M):
            if section.startswith("Responses of push services"):
                continue
            for part in re.split(r"; |, (?=[A-Z`])|…| / |\$\{|^held: |^(?:not )?delivered(?: yet)?[:,] |^waits: ", row):
                part = part.strip(" `.").removesuffix(", perhaps")
                if len(part) > 12 and not part.startswith(("what ", "but the user sees")):
                    count += 1
                    if part not in code:
                        missing.append(part)
    assert not missing, "\n".join(missing)
    assert count > 50


# Monitoring


def metrics_named(text: str) -> set[str]:
    return set(re.findall(r"\b(?:carillon|process)_[a-z_]+", text)) - {"carillon_build"}


def test_alerts_and_dashboard_name_metrics_that_a_router_exports(scene):
    folder = REPOSITORY / "contrib/monitoring"
    dashboard = json.loads((folder / "grafana.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    alerts = yaml.safe_load((folder / "alerts.yml").read_text())
    rules = [rule for group in alerts["groups"] for rule in group["rules"]]
    expressions += [rule["expr"] for rule in rules]
    expressions.append(dashboard["templating"]["list"][1]["definition"])
    named = set().union(*map(metrics_named, expressions))
    bare = {re.sub(r"_(bucket|sum|count)$", "", name) for name in named}
    page = (REPOSITORY / "contrib/docs/metrics.md").read_text()
    documented = set(re.findall(r"`((?:carillon|process)_[a-z_]+)`", page))
    assert len(bare) > 20 and bare <= documented, bare - documented

    # These come with what this router does not have: an end of a credential, a process that died, a filter that spared somebody.
    sometimes = {"carillon_credential_expiry_timestamp_seconds", "carillon_filtered_total", "carillon_clients_refused_total"}
    # Some come with the first push, which the scene began with.
    wait_until(lambda: bare <= metrics_named(scene_metrics(scene)) | sometimes, f"all of {bare}", scene.router.process)

    described = (REPOSITORY / "contrib/docs/monitoring.md").read_text()
    for rule in rules:
        assert f"`{rule['alert']}`" in described, rule["alert"]
        assert {"summary", "remedy"} <= set(rule["annotations"]) and rule["labels"]["severity"] in ["page", "ticket"]


def scene_metrics(scene) -> str:
    """Of the router that runs, over the socket for commands."""
    socket = next(scene.router.folder.glob("*-admin")) / "socket"
    done = subprocess.run(
        ["curl", "-sf", "--unix-socket", socket, "http://localhost/metrics"], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_dashboard_is_valid():
    dashboard = json.loads((REPOSITORY / "contrib/monitoring/grafana.json").read_text())
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= set(dashboard)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    taken = set()
    for panel in dashboard["panels"]:
        assert panel["type"] in ["timeseries", "stat"] and panel["title"] and panel["targets"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])
        place = panel["gridPos"]
        assert 0 <= place["x"] and place["x"] + place["w"] <= 24
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, f"{panel['title']} lies over another panel"
        taken |= cells
    assert [variable["name"] for variable in dashboard["templating"]["list"]] == ["datasource", "instance"]


@pytest.mark.skipif(
    not (REPOSITORY / ".build/tools/promtool").exists() and shutil.which("promtool") is None,
    reason="promtool is missing: contrib/setup --tests gets it from Debian where it can",
)
def test_the_alerts_fire_when_they_should(tmp_path):
    tool = REPOSITORY / ".build/tools/promtool"
    program = str(tool) if tool.exists() else "promtool"
    folder = REPOSITORY / "contrib/monitoring"
    for words in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]]:
        done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
    # It also reads what the dashboard asks, as rules.
    dashboard = json.loads((folder / "grafana.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    rules = [
        {"record": f"dashboard:{number}", "expr": text.replace("$__rate_interval", "5m").replace("$instance", ".*")}
        for number, text in enumerate(asked)
    ]
    (tmp_path / "dashboard.yml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = subprocess.run([program, "check", "rules", tmp_path / "dashboard.yml"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def named_in_the_security_page() -> list[str]:
    """What SECURITY.md has between backquotes and looks like a file of the repository, a test or a type."""
    names = re.findall(r"`([^`\n]+)`", (REPOSITORY / "SECURITY.md").read_text())
    looks = r"test_\w+|[A-Z]\w*Tests|[a-z]+(?:[A-Z]\w*)+|[A-Z]\w+|(?:\w+/)+\w+(?:\.\w+)?"
    return sorted({name for name in names if re.fullmatch(looks, name)})


def test_each_security_claim_names_its_test():
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.split()
    code = [path for path in tracked if re.match(r"(Tests|Sources|Plugins|contrib)/.*\.(swift|py)$", path)]
    declared = {
        name
        for path in code
        for name in re.findall(r"\b(?:func|def|struct|class|enum|actor|protocol)\s+(\w+)", (REPOSITORY / path).read_text())
    }
    names = named_in_the_security_page()
    assert len(names) > 80
    places = ["/" + path for path in tracked]
    unknown = [name for name in names if "/" not in name and name not in declared]
    assert unknown == [], "no such test or type"
    paths = [name for name in names if "/" in name]
    assert [path for path in paths if not any(f"/{path}/" in f"{place}/" for place in places)] == [], "no such file"
    # A section about an attacker names at least one test.
    claims = re.findall(r"^\*\*.*?(?=^\*\*|^## )", (REPOSITORY / "SECURITY.md").read_text(), flags=re.M | re.S)
    assert len(claims) > 8
    assert [claim[:40] for claim in claims if not any(f"`{name}`" in claim for name in names if name in declared)] == []
