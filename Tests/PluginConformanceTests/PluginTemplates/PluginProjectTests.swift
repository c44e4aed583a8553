import CommandTestSupport
import Foundation
import PluginConformance
import PluginHost
import Testing

/// A project that `carillon plugin new` writes builds, passes its own test, and passes `carillon plugin check`.
///
/// Plugins in Swift need their own build of PluginKit: `contrib/test-templates` makes it.
@Suite(.timeLimit(.minutes(5)))
struct PluginProjectTests {
    @Test(arguments: ["pager", "my-pager_2", "job"], PluginProject.Kind.allCases)
    func pluginInCPasses(name: String, kind: PluginProject.Kind) async throws {
        try await expectPassed(try project(name, .c, kind), library: "\(name).so") { folder in
            try make(in: folder, "test", "\(name).so")
        }
    }

    /// Its pointer would be cut to 32 bits, which crashes later and elsewhere.
    @Test func functionThatIsNotDeclaredFailsTheBuild() throws {
        let folder = try Folder()
        let plugin = folder.url.appending(path: "plugin")
        try project("pager", .c, .transport).write(to: plugin)
        let file = plugin.appending(path: "pager.c")
        let source = try String(contentsOf: file, encoding: .utf8)
        let broken = source.replacing(
            "switch (notification->mode) {",
            with: "undeclared();\n    switch (notification->mode) {"
        )
        try broken.write(to: file, atomically: true, encoding: .utf8)
        let run = try CommandRun("make", ["-C", plugin.path])
        #expect(run.status != 0)
        #expect(run.output.contains("undeclared"))
    }

    @Test(arguments: PluginProject.Language.allCases, PluginProject.Kind.allCases)
    func generatedTestsAskToBeReplaced(language: PluginProject.Language, kind: PluginProject.Kind) throws {
        let project = PluginProject(try #require(PluginName("pager")), language, kind, package: "/src/carillon")
        for word in ["rewrite the test", language == .rust ? "rewrite them" : "rewrite this test"] {
            #expect(project.files.contains { $0.text.contains(word) }, "\(word)")
        }
    }

    @Test func failingTestShowsWhatToDo() throws {
        let folder = try Folder()
        let plugin = folder.url.appending(path: "plugin")
        try project("pager", .c, .transport).write(to: plugin)
        let file = plugin.appending(path: "pager.c")
        let source = try String(contentsOf: file, encoding: .utf8)
        try source.replacing("\"title\", notification", with: "\"subject\", notification")
            .write(to: file, atomically: true, encoding: .utf8)
        let run = try CommandRun("make", ["-C", plugin.path, "test"])
        #expect(run.status != 0)
        #expect(
            run.output.contains("test.c tests what carillon plugin new wrote: rewrite it when you change the plugin")
        )
    }

    @Test(
        .enabled(if: has("c++"), "there is no C++ compiler"),
        arguments: ["3am-pager", "job"],
        PluginProject.Kind.allCases
    )
    func pluginInCPPPasses(name: String, kind: PluginProject.Kind) async throws {
        try await expectPassed(try project(name, .cpp, kind), library: "\(name).so") { folder in
            try make(in: folder, "test", "\(name).so")
        }
    }

    @Test(.enabled(if: has("cargo"), "there is no cargo"), arguments: PluginProject.Kind.allCases)
    func pluginInRustPasses(kind: PluginProject.Kind) async throws {
        let project = try project("my-pager_2", .rust, kind)
        try await expectPassed(project, library: "target/debug/libcarillon_my_pager_2.so") { folder in
            // In a shell: SIGPIPE, umask and the network must not affect Cargo here.
            let script = "cd '\(folder.path)' && umask 022 && CARGO_TARGET_DIR=target cargo test -q --offline "
            let run = try CommandRun("sh", ["-c", script + "&& CARGO_TARGET_DIR=target cargo build -q --offline"])
            try #require(run.status == 0, "\(run.output)")
        }
    }

    @Test(
        .enabled(if: has("/usr/bin/python3"), "there is no Python"),
        arguments: ["3am-pager", "my-pager_2"],
        PluginProject.Kind.allCases
    )
    func pluginInPythonPasses(name: String, kind: PluginProject.Kind) async throws {
        try await expectPassed(try project(name, .python, kind), library: "\(name).py") { folder in
            try make(in: folder, "test", "PYTHON=/usr/bin/python3")
        }
    }

    @Test(.enabled(if: has("cargo"), "there is no cargo")) func crateKeepsItsPromises() throws {
        let crate = Self.repository.appending(path: "contrib/bindings/rust").path
        let target = Self.repository.appending(path: ".build/rust").path
        let script = "cd '\(crate)' && CARGO_TARGET_DIR='\(target)' cargo test -q --offline"
        let run = try CommandRun("sh", ["-c", script])
        #expect(run.status == 0, "\(run.output)")
    }

    /// The example of the crate that uses every service.
    @Test(.enabled(if: has("cargo"), "there is no cargo")) func pagerOfTheCratePasses() async throws {
        let crate = Self.repository.appending(path: "contrib/bindings/rust").path
        let folder = try Folder()
        let target = Self.repository.appending(path: ".build/rust").path
        let library = folder.url.appending(path: "snpp.so").path
        let script = "cd '\(crate)' && CARGO_TARGET_DIR='\(target)' cargo build -q --offline --example snpp "
        let run = try CommandRun(
            "sh",
            ["-c", script + "&& install -m 644 '\(target)/debug/examples/libsnpp.so' '\(library)'"]
        )
        try #require(run.status == 0, "\(run.output)")
        let report = await PluginConformance.check(path: library)
        #expect(report.isPassed, "\(report)")
        let remark = { (check: ConformanceCheck) in report.results.first { $0.check == check }?.text }
        #expect(remark(.services) == "1 timers, 1 keys")
        #expect(remark(.deliverMany) == "it took 20 together")
    }

    /// An addition to the header must be made in the crate too; its own tests compare the layouts.
    @Test func crateKnowsTheHeadersMinorVersion() throws {
        let header = try String(
            contentsOf: Self.repository.appending(path: "include/carillon/plugin.h"),
            encoding: .utf8
        )
        let crate = try String(
            contentsOf: Self.repository.appending(path: "contrib/bindings/rust/src/abi.rs"),
            encoding: .utf8
        )
        let minor = try #require(header.firstMatch(of: /#define CARILLON_ABI_MINOR (\d+)/)?.1)
        #expect(crate.contains("pub const MINOR: u32 = \(minor);"))
    }

    /// The steps of the examples' README.
    @Test(.enabled(if: has("pkg-config"), "there is no pkg-config")) func installedHeadersAreFound() throws {
        let folder = try Folder()
        let script = """
            set -e; cd '\(Self.repository.path)'; prefix='\(folder.url.path)'
            install -D -m 644 -t "$prefix/include/carillon" include/carillon/*.h
            mkdir -p "$prefix/lib/pkgconfig"
            sed "s|@PREFIX@|$prefix|" contrib/pkgconfig/carillon.pc.in >"$prefix/lib/pkgconfig/carillon.pc"
            export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
            cc $(pkg-config --cflags carillon) -std=c11 -shared -fPIC -o "$prefix/x.so" contrib/examples/plugins/webhook.c
            grep -q "CARILLON_ABI_MINOR $(pkg-config --modversion carillon | cut -d. -f2) " include/carillon/plugin.h
            """
        let run = try CommandRun("sh", ["-c", script])
        #expect(run.status == 0, "\(run.output)")
    }

    @Test(arguments: PluginProject.Language.allCases, PluginProject.Kind.allCases)
    func exampleNamesDoNotRemainInAProject(language: PluginProject.Language, kind: PluginProject.Kind) throws {
        let project = PluginProject(try #require(PluginName("pager")), language, kind, package: "/src/carillon")
        for file in project.files where !file.path.hasPrefix("carillon-plugin/") && !file.path.hasPrefix("include/") {
            let text = file.text.lowercased()
            #expect(!text.contains("webhook") && !text.contains("wordlist"), "\(file.path)")
            #expect(file.text.firstMatch(of: /@[A-Z]{2,}@/) == nil, "\(file.path)")
        }
        #expect(project.files.map(\.path).contains("README.md"))
        #expect(Set(project.files.map(\.path)).count == project.files.count)
    }

    @Test(arguments: [
        ("/src/carillon", #".package(path: "/src/carillon")"#, #"package: "carillon""#),
        (
            "https://git.example/x/push-router.git", #".package(url: "https://git.example/x/push-router.git""#,
            #"package: "push-router""#
        ),
    ])
    func pluginInSwiftDependsOnThePackage(package: String, dependency: String, product: String) throws {
        let project = PluginProject(try #require(PluginName("pager")), .swift, package: package)
        let manifest = try #require(project.files.first { $0.path == "Package.swift" }).text
        #expect(manifest.contains(dependency))
        #expect(manifest.contains(product))
    }

    @Test func existingFilesAreNotOverwritten() throws {
        let folder = try Folder()
        let project = try project("pager", .c, .transport)
        try project.write(to: folder.url.appending(path: "new"))
        try Data().write(to: folder.url.appending(path: "mine"))
        #expect(throws: PluginProjectError.self) { try project.write(to: folder.url.appending(path: "new")) }
        #expect(throws: PluginProjectError.self) { try project.write(to: folder.url) }
        #expect(throws: PluginProjectError.self) { try project.write(to: folder.url.appending(path: "mine")) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == ["mine", "new"])
    }

    @Test func oneFileInCPasses() async throws {
        let folder = try Folder()
        let source = PluginProject.sourceInC(try #require(PluginName("my-pager_2")))
        #expect(!source.lowercased().contains("webhook"))
        let file = folder.url.appending(path: "plugin.c").path
        try source.write(toFile: file, atomically: true, encoding: .utf8)
        let library = folder.url.appending(path: "plugin.so").path
        let include = Self.repository.appending(path: "include").path
        let compiler = try CommandRun(
            "cc",
            ["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", include, "-o", library, file]
        )
        try #require(compiler.status == 0, "\(compiler.output)")
        let report = await PluginConformance.check(path: library)
        #expect(report.isPassed, "\(report)")
        #expect(report.results.allSatisfy { $0.platform == nil || $0.platform == "my-pager_2" })
    }

    @Test(arguments: ["", "Pager", "a b", "../x", "a/b", "é", "a\n", String(repeating: "a", count: 65)])
    func pluginNeedsAName(name: String) { #expect(PluginName(name) == nil) }

    // MARK: Tools

    private static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The program that runs plugins in Python, next to the tests.
    private static let pythonProgram: String? = {
        let here = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map { [$0] } ?? []
        let folders = (here + CommandLine.arguments).map { URL(filePath: $0).deletingLastPathComponent().path }
        return folders.flatMap(PythonProgram.places).first { FileManager.default.fileExists(atPath: $0) }
    }()

    private static func has(_ command: String) -> Bool {
        (try? CommandRun("sh", ["-c", "command -v \(command)"]))?.status == 0
    }

    private func project(
        _ name: String,
        _ language: PluginProject.Language,
        _ kind: PluginProject.Kind
    ) throws -> PluginProject {
        PluginProject(try #require(PluginName(name)), language, kind)
    }

    private func make(in folder: URL, _ targets: String...) throws {
        let strict = ["CFLAGS=-O1 -Werror", "CXXFLAGS=-O1 -Werror", "SANITIZE=-fsanitize=address,undefined"]
        let run = try CommandRun("make", ["-C", folder.path] + strict + targets)
        try #require(run.status == 0, "\(run.output)")
    }

    /// Writes the plugin, runs `build`, and checks the result.
    private func expectPassed(_ project: PluginProject, library: String, _ build: (URL) throws -> Void) async throws {
        let folder = try Folder()
        let plugin = folder.url.appending(path: "plugin")
        try project.write(to: plugin)
        try build(plugin)
        let path = plugin.appending(path: library).path
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        var configurations: [String: String] = [:]
        if project.kind == .filter {
            let settings = try String(contentsOf: plugin.appending(path: "settings.json"), encoding: .utf8)
            configurations[project.name.text] = settings
        }
        var plan = ConformancePlan(path: path, configurations: configurations)
        plan.python = PythonPrograms(interpreter: "/usr/bin/python3", program: Self.pythonProgram ?? "")
        let report = await PluginConformance.check(plan)
        #expect(report.isPassed, "\(report)")
        let checks = project.kind == .filter ? ConformanceCheck.ofFilters : ConformanceCheck.ofTransports
        #expect(report.results.map(\.check) == checks)
    }
}

/// A folder that is deleted with this object.
private final class Folder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "carillon-templates-\(UUID().uuidString)")
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o755]
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true, attributes: attributes)
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}
