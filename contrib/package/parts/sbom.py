#!/usr/bin/env python3
"""Writes what the packages were made of, as SPDX 2.3 in JSON: every Swift package that was compiled in, what those carry along,
Swift's runtime, and the libraries of Debian's that are loaded.

    sbom.py --version V --commit C --date SECONDS --build FOLDER --runtime FOLDER --resolved Package.resolved >carillon.spdx.json
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
from pathlib import Path

# What licences the packages name in their LICENSE files. A new package has to be looked at before it is listed here.
LICENCES = {
    "grdb.swift": "MIT",
    "yams": "MIT",
    "hummingbird": "Apache-2.0",
    "swift-mustache": "Apache-2.0",
    "swift-argument-parser": "Apache-2.0 WITH Swift-exception",
    "swift-async-algorithms": "Apache-2.0 WITH Swift-exception",
    "swift-atomics": "Apache-2.0 WITH Swift-exception",
    "swift-collections": "Apache-2.0 WITH Swift-exception",
    "swift-http-types": "Apache-2.0",
    "swift-log": "Apache-2.0",
    "swift-nio": "Apache-2.0",
    "swift-nio-extras": "Apache-2.0",
    "swift-nio-http2": "Apache-2.0",
    "swift-nio-ssl": "Apache-2.0",
    "swift-service-lifecycle": "Apache-2.0",
}
PROGRAMS = ["carillon", "carillon-lab", "carillon-plugin-host"]
# Modules that are sources of others, which a package carries along: their name and licence.
CARRIED = {
    "CNIOBoringSSL": ("BoringSSL", "Apache-2.0"),
    "CNIOLLHTTP": ("llhttp", "MIT"),
    "CNIOSHA1": ("FreeBSD sha1", "BSD-3-Clause"),
    "CYaml": ("libyaml", "MIT"),
}
# Debian's packages that hold the libraries which the binaries load.
DEBIAN = {
    "libc6": "LGPL-2.1-or-later",
    "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libssl3": "Apache-2.0",
    "libcurl4": "curl",
    "libnghttp2-14": "MIT",
    "libpcre2-8-0": "BSD-3-Clause",
    "libseccomp2": "LGPL-2.1-only",
    "libsqlite3-0": "blessing",
}
# Debian's packages whose static libraries are linked in.
STATIC = {"libsecp256k1-dev": "MIT"}


def identifier(text: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def package(name: str, version: str, licence: str, location: str, purl: str | None = None, comment: str | None = None) -> dict:
    entry = {
        "SPDXID": identifier(name),
        "name": name,
        "versionInfo": version,
        "downloadLocation": location,
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "supplier": "NOASSERTION",
    }
    if purl:
        entry["externalRefs"] = [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}
        ]
    if comment:
        entry["comment"] = comment
    return entry


def linked(build: Path) -> dict[str, set[str]]:
    """The folders of packages whose objects are in some program or library, and which of their modules."""
    modules: set[str] = set()
    # Plugins, and the programs that ship: a build for tests has more.
    products = [*build.glob("Carillon*.product"), *(build / f"{name}.product" for name in PROGRAMS)]
    for product in products:
        modules.update(re.findall(r"/([^/]+)\.build/", (product / "Objects.LinkFileList").read_text()))
    found: dict[str, set[str]] = {}
    for module in modules:
        folder = build / f"{module}.build"
        # Swift's modules have a list of their sources, those in C what each object depends on.
        lists = [folder / "sources"] if (folder / "sources").exists() else sorted(folder.rglob("*.d"))[:1]
        for text in (file.read_text(errors="replace") for file in lists):
            source = re.search(r"/checkouts/([^/]+)/", text)
            if source:
                found.setdefault(source[1], set()).add(module)
    return found


def swift_packages(linked: dict[str, set[str]], resolved: Path) -> list[dict]:
    found = []
    for pin in sorted(json.loads(resolved.read_text())["pins"], key=lambda pin: pin["identity"]):
        name, location = pin["identity"], pin["location"].removesuffix(".git")
        modules = linked.get(location.rsplit("/", 1)[1], set())
        if not modules:
            continue
        if name not in LICENCES:
            sys.exit(f"sbom.py: {name} is linked in. Look at its licence and add it to LICENCES and to debian/copyright.")
        version = pin["state"]["version"]
        purl = f"pkg:swift/{location.removeprefix('https://')}@{version}"
        found.append(package(name, version, LICENCES[name], f"git+{location}@{version}", purl))
        for module in sorted(modules & CARRIED.keys()):
            carried, licence = CARRIED[module]
            found.append(package(carried, f"as in {name} {version}", licence, "NOASSERTION", comment=f"Carried by {name}."))
    return found


def toolchain(runtime: Path) -> list[dict]:
    said = subprocess.run(["swiftc", "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"Swift version (\S+)", said).group(1)
    runtime_comment = "Swift's standard library, Foundation and Dispatch, as shared libraries in /usr/lib/carillon."
    found = [
        package("swift-runtime", version, "Apache-2.0 WITH Swift-exception", "https://www.swift.org/install/linux/",
                comment=runtime_comment)
    ]
    if (runtime / "lib_FoundationICU.so").exists():
        found.append(package("ICU", f"as in Swift {version}", "Unicode-3.0", "NOASSERTION", comment="lib_FoundationICU.so"))
    return found


def debian_packages(licences: dict[str, str], comment: str) -> list[dict]:
    found = []
    for name, licence in sorted(licences.items()):
        asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True)
        if asked.returncode:
            sys.exit(f"sbom.py: {name} is not installed; run contrib/setup")
        purl = f"pkg:deb/debian/{name}@{asked.stdout}"
        found.append(package(name, asked.stdout, licence, "NOASSERTION", purl, comment))
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["version", "commit", "date", "build", "runtime", "resolved"]:
        options.add_argument(f"--{name}", required=True)
    given = options.parse_args()
    date = datetime.datetime.fromtimestamp(int(given.date), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    inside = swift_packages(linked(Path(given.build)), Path(given.resolved)) + toolchain(Path(given.runtime))
    inside += debian_packages(STATIC, "Its static library is linked in.")
    loaded = debian_packages(DEBIAN, "Loaded from the system; built against it.")
    router = package("carillon", given.version, "Apache-2.0", "NOASSERTION", comment=f"Built from commit {given.commit}.")
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", router)]
    relations += [(router["SPDXID"], "CONTAINS", entry) for entry in inside]
    relations += [(router["SPDXID"], "DYNAMIC_LINK", entry) for entry in loaded]
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"carillon-{given.version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/carillon-{given.version}-{given.commit}",
        "creationInfo": {"created": date, "creators": ["Tool: contrib/package/parts/sbom.py"]},
        "packages": [router, *inside, *loaded],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other["SPDXID"]}
            for one, kind, other in relations
        ],
    }
    json.dump(document, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
