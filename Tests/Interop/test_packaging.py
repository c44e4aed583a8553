"""What can be said of the packages without a release build: that what they are made from fits together and fits the build.
contrib/package/run builds and checks them, contrib/package/test installs them in a fresh Debian."""

import json
import re
import shutil
import subprocess

import pytest
import yaml

from lab import service_account
from programs import BUILD, REPOSITORY, built, carillon

PACKAGE = REPOSITORY / "contrib/package"
DEBIAN = PACKAGE / "debian"
PARTS = PACKAGE / "parts"
SCRIPTS = [PACKAGE / "run", PACKAGE / "test", *sorted(PARTS.glob("*.sh"))]
MAINTAINER_SCRIPTS = [path for path in sorted(DEBIAN.iterdir()) if path.suffix in [".preinst", ".postinst", ".prerm", ".postrm"]]


def text_of(*path: str) -> str:
    return PACKAGE.joinpath(*path).read_text()


def plugins_of_the_package() -> list[str]:
    names = re.search(r"^let pluginNames = \[(.*?)\]", (REPOSITORY / "Package.swift").read_text(), re.M | re.S)
    return re.findall(r'"(\w+)"', names[1])


@pytest.mark.parametrize("path", SCRIPTS + MAINTAINER_SCRIPTS, ids=lambda path: path.name)
def test_a_script_passes_shellcheck(path):
    shell = "sh" if path in MAINTAINER_SCRIPTS else "bash"
    assert subprocess.run([shell, "-n", path]).returncode == 0
    if shutil.which("shellcheck"):
        assert subprocess.run(["shellcheck", "-S", "warning", path]).returncode == 0


def test_scripts_explain_themselves():
    for name in ["run", "test"]:
        said = subprocess.run([PACKAGE / name, "--help"], capture_output=True, text=True)
        assert said.returncode == 0 and f"contrib/package/{name} " in said.stdout, said
        refused = subprocess.run([PACKAGE / name, "--nonsense"], capture_output=True, text=True)
        assert refused.returncode == 2 and "--nonsense" in refused.stderr, refused


def test_installing_starts_no_service_and_upgrading_restarts():
    postinst = text_of("debian", "carillon.postinst")
    commands = [line for line in postinst.splitlines() if not line.startswith("\t")]  # what it prints is indented by tabs
    assert not re.search(r"(systemctl|invoke|helper) (enable|start|restart)\b", "\n".join(commands))
    assert re.search(r'if \[ -n "\$2" \]; then\s+deb-systemd-invoke try-restart carillon.service', postinst)
    # What a remove keeps, a purge takes.
    postrm = text_of("debian", "carillon.postrm")
    assert postrm.index('[ "$1" = purge ]') < postrm.index("rm -rf /var/lib/carillon")


@pytest.mark.parametrize("name", ["carillon", "carillon-lab", "carillon-dev"])
def test_a_control_file_is_complete(name):
    control = text_of("debian", f"{name}.control")
    fields = dict(re.findall(r"^([A-Z][\w-]*): (.*)$", control, re.M))
    assert fields["Package"] == name and fields["Version"] == "@VERSION@"
    assert {"Architecture", "Maintainer", "Installed-Size", "Section", "Priority", "Description"} <= fields.keys()
    if name != "carillon-dev":
        assert fields["Depends"].startswith("@LIBRARIES@")
    assert all(len(line) <= 80 for line in control.splitlines())
    # Lines of the long text start with a blank, and empty ones are a dot.
    assert all(line.startswith(" ") for line in control[control.index("Description:") :].splitlines()[1:])


def test_all_packaged_files_are_in_the_build():
    stage = (PARTS / "stage.sh").read_text()
    for name in re.findall(r'"\$built/([\w.-]+)"', stage):
        assert (BUILD / name).exists(), name
    for name in re.findall(r"put \d+ ([\w./-]+) ", stage):
        assert (REPOSITORY / name).exists(), name
    for name in plugins_of_the_package():
        assert built(f"libCarillon{name}.so")


def test_the_unit_becomes_that_of_the_package():
    """The lines that stage.sh replaces are in the unit."""
    unit = (REPOSITORY / "contrib/systemd/carillon.service").read_text()
    stage = (REPOSITORY / "contrib/package/parts/stage.sh").read_text()
    [command] = re.findall(r"^ +sed (-e (?:[^\n]*\\\n)*[^\n]*carillon\.service[^\n]*)", stage, re.M)
    replaced = re.findall(r"s\|([^|]+)\|", command)
    assert "^DynamicUser=yes" in replaced and len(replaced) >= 5, replaced
    for pattern in replaced:
        assert re.search(pattern, unit, re.M), pattern


def test_the_version_is_in_one_place():
    version = re.search(r'current = "(.*)"', (REPOSITORY / "Sources/Operations/Version.swift").read_text())[1]
    said = carillon("--version").stdout.strip()
    assert said.split(" ")[0] == version
    packages = subprocess.run([PACKAGE / "run", "version"], capture_output=True, text=True, check=True).stdout.strip()
    assert re.fullmatch(re.escape(version) + r"(~\d{14}\.[0-9a-f]{12}(\.changed)?)?", packages), packages


def local(text: str, tmp_path) -> str:
    """A packaged configuration with the paths of the build, and of a folder with credentials of nobody's."""
    secrets = tmp_path / "secrets"
    secrets.mkdir(exist_ok=True)
    (secrets / "firebase.json").write_text(service_account())
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", secrets / "AuthKey.p8"],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    plugins = tmp_path / "plugins"
    plugins.mkdir(mode=0o755, exist_ok=True)
    for name in ["APNs", "FCM", "UnifiedPush", "Ntfy", "Gotify"]:
        shutil.copy(built(f"libCarillon{name}.so"), plugins)
    text = text.replace("/usr/lib/carillon/plugins", str(plugins)).replace("/var/lib/carillon", str(tmp_path))
    return text.replace("/etc/carillon/secrets", str(secrets)).replace("${CARILLON_URL}", "wss://notify.example.com")


@pytest.mark.parametrize("name", ["carillon.yaml", *(f"compose/{name}/carillon.yaml" for name in ["ntfy", "apns-fcm", "strfry"])])
def test_a_packaged_configuration_is_valid(name, tmp_path):
    file = tmp_path / "carillon.yaml"
    file.write_text(local(text_of(name), tmp_path))
    checked = carillon("check", "--config", file)
    assert checked.returncode == 0 and "no errors" in checked.stdout, checked.stdout + checked.stderr


def test_a_compose_file_mounts_existing_paths():
    files = sorted(PACKAGE.glob("compose/*/compose.yaml"))
    assert [file.parent.name for file in files] == ["apns-fcm", "ntfy", "strfry"]
    for file in files:
        services = yaml.safe_load(file.read_text())["services"]
        volumes = yaml.safe_load(file.read_text())["volumes"]
        router = services["carillon"]
        assert router["image"] == "carillon" and router["cap_drop"] == ["ALL"] and router["read_only"]
        assert "state:/var/lib/carillon" in router["volumes"]
        for service in services.values():
            assert set(service.get("depends_on", [])) <= services.keys()
            for source in (volume.split(":")[0] for volume in service["volumes"]):
                assert source in volumes or source == "./secrets" or (file.parent / source).exists(), source


def test_the_image_uses_existing_stages_and_runs_unprivileged():
    lines = re.sub(r"\\\n", " ", text_of("Dockerfile")).splitlines()
    steps = [line.split(None, 1) for line in lines if line and not line.startswith("#")]
    stages = {match[1] for line in lines if (match := re.match(r"FROM \S+ AS (\w+)", line))}
    arguments = dict(text.split("=", 1) for step, text in steps if step == "ARG")
    assert arguments["PACKAGES"] in stages
    assert set(re.findall(r"--from=(\w+)", "\n".join(lines))) <= stages
    final = dict(steps[max(number for number, (step, _) in enumerate(steps) if step == "FROM") :])
    assert final["USER"] == "carillon" and final["STOPSIGNAL"] == "SIGTERM" and final["VOLUME"] == "/var/lib/carillon"
    assert "/healthz" in final["HEALTHCHECK"]
    assert json.loads(final["ENTRYPOINT"]) == ["/usr/bin/carillon"] and json.loads(final["CMD"])[0] == "serve"


@pytest.mark.parametrize("command", ["carillon", "carillon-lab"])
def test_each_command_has_a_manual_page(command, tmp_path):
    dump = subprocess.run([built(command), "--experimental-dump-help"], capture_output=True, text=True, check=True).stdout
    subprocess.run(["python3", PARTS / "manual.py", command, "0.1.0", "2026-01-31", tmp_path], input=dump, text=True, check=True)
    pages = {path.stem: path.read_text() for path in tmp_path.glob("*.1")}
    for child in json.loads(dump)["command"]["subcommands"]:
        if child["shouldDisplay"] and child["commandName"] != "help":
            assert f"{command}-{child['commandName']}" in pages
    for name, page in pages.items():
        assert page.startswith(".TH ") and " 1 2026-01-31 " in page, name
        sections = re.findall(r"^\.SH (.*)$", page, re.M)
        assert sections[:2] == ["NAME", "SYNOPSIS"] and "OPTIONS" in sections, name
        # A line of text that starts with a dot would be read as a request.
        assert set(re.findall(r"^\.(\w+)", page, re.M)) <= {"TH", "SH", "PP", "TP", "nf", "fi"}, name


def test_the_sbom_names_what_is_linked_in_and_the_copyright_file_covers_it():
    made = subprocess.run(
        ["python3", PARTS / "sbom.py", "--version", "0.1.0", "--commit", "0" * 12, "--date", "1700000000", "--build", BUILD]
        + ["--runtime", BUILD, "--resolved", REPOSITORY / "Package.resolved"],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    assert document["spdxVersion"] == "SPDX-2.3" and document["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    names = {entry["SPDXID"]: entry["name"] for entry in document["packages"]}
    assert len(names) == len(document["packages"])
    assert {"carillon", "swift-nio", "BoringSSL", "grdb.swift", "libyaml", "libssl3"} <= set(names.values())
    for relation in document["relationships"]:
        assert relation["relatedSpdxElement"] in names
    covered = text_of("debian", "copyright")
    contained = [relation["relatedSpdxElement"] for relation in document["relationships"] if relation["relationshipType"] == "CONTAINS"]
    for name in (names[element] for element in contained):
        assert re.search(rf"\b{re.escape(name)}\b", covered), f"debian/copyright says nothing of {name}"
    for used in set(re.findall(r"^License: (.*)$", covered, re.M)):
        assert len(re.findall(rf"^License: {re.escape(used)}\n ", covered, re.M)) == 1, f"the text of {used}"
