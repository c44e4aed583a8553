import Core
import Foundation
import PluginHost
import Storage
import Testing
import TimeTestSupport

@testable import RouterConfiguration

/// The folders of plugins, and the program that runs them.
@Suite struct PluginSettingsTests {
    private func read(_ plugins: String) throws(Diagnostics) -> Configuration.Plugins {
        let yaml = "identity: { key_file: k }\nstore: { path: s }\nplugins: \(plugins)\n"
        return try ConfigurationReader(name: "carillon.yaml", folder: "/etc/carillon", environment: { _ in nil })
            .read(yaml).plugins
    }

    private func mistakes(_ body: () throws(Diagnostics) -> Void) -> [String] {
        do {
            try body()
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    private func mistakes(_ plugins: String) -> [String] {
        mistakes { () throws(Diagnostics) in _ = try read(plugins) }
    }

    @Test func pluginSettingsHaveDefaults() throws {
        #expect(try read("{ folders: [p] }").isolation == IsolationSettings(program: ""))
    }

    @Test func everyPluginSettingIsRead() throws {
        let plugins = try read(
            """
            { deadline_seconds: 20, question_deadline_seconds: 2, limits: { memory_mib: 64, cpu_percent: 50 },
              sandbox: false, program: bin/host, python: bin/python3 }
            """
        )
        var expected = IsolationSettings(program: "/etc/carillon/bin/host")
        expected.python.interpreter = "/etc/carillon/bin/python3"
        expected.deadline = .seconds(20)
        expected.questionDeadline = .seconds(2)
        expected.memory = .mebibytes(64)
        expected.processors = 0.5
        expected.isSandboxed = false
        #expect(plugins.isolation == expected)
    }

    @Test(arguments: ["none", "{ default: process, libFoo.so: none }"])
    func removedKeyNamesItsReplacement(_ value: String) {
        #expect(
            mistakes("{ isolation: \(value) }") == [
                "carillon.yaml:3:23: plugins.isolation: this key was removed: every plugin runs in its own process, and "
                    + "those that come with Carillon share one. Remove the key"
            ]
        )
    }

    @Test func zeroMeansUnlimited() throws {
        let settings = try read("{ limits: { memory_mib: 0, cpu_percent: 0 } }").isolation
        #expect(settings.memory == nil && settings.processors == nil)
    }

    @Test(arguments: [
        ("{ deadline_seconds: 0 }", "3:30: plugins.deadline_seconds: expected a whole number from 1 to 600"),
        (
            "{ limits: { memory_mib: 8 } }",
            "3:34: plugins.limits.memory_mib: expected 0 (no limit) or at least 32, which plugins need to load"
        ),
        ("{ sandbox: maybe }", "3:21: plugins.sandbox: expected true or false"),
        ("{ sandbux: true }", "3:12: plugins: unknown key 'sandbux'; did you mean 'sandbox'?"),
    ])
    func meaninglessSettingIsAnError(_ plugins: String, _ mistake: String) {
        #expect(mistakes(plugins) == ["carillon.yaml:\(mistake)"])
    }

    // MARK: The program

    @Test func pluginHostIsFoundNextToTheExecutableAndWhereInstalled() {
        #expect(
            PluginProgram.places(beside: "/usr/local/bin") == [
                "/usr/local/bin/carillon-plugin-host", "/usr/local/libexec/carillon/carillon-plugin-host",
                "/usr/local/lib/carillon/carillon-plugin-host",
            ]
        )
    }

    @Test func firstExecutableHostIsUsed() throws {
        let plugins = try read("{ folders: [p] }")
        #expect(
            try plugins.processes(places: ["/nowhere", "/etc/passwd", "/bin/true", "/bin/false"]).program
                == "/bin/true"
        )
    }

    @Test func missingPluginHostErrorNamesTheSearchedPaths() throws {
        let plugins = try read("{ folders: [p] }")
        let found = mistakes { () throws(Diagnostics) in _ = try plugins.processes(places: ["/no/where", "/nor/here"]) }
        #expect(
            found == [
                "carillon.yaml:3:10: plugins.program: cannot find carillon-plugin-host, which runs plugins; looked for "
                    + "/no/where, /nor/here. Install it there, or set plugins.program"
            ]
        )
        let named = try read("{ program: /no/where }")
        #expect(
            mistakes { () throws(Diagnostics) in _ = try named.processes(places: ["/bin/true"]) } == [
                "carillon.yaml:3:10: plugins.program: expected the program carillon-plugin-host; /no/where is not a program"
            ]
        )
    }

    @Test func pythonIsFoundNextToTheExecutableAndWhereInstalled() {
        #expect(
            PythonProgram.places(beside: "/usr/local/bin") == [
                "/usr/local/bin/carillon-plugin-python",
                "/usr/local/bin/carillon_PluginHost.resources/carillon-plugin-python",
                "/usr/local/libexec/carillon/carillon-plugin-python", "/usr/local/lib/carillon/carillon-plugin-python",
            ]
        )
    }

    @Test func configuredInterpreterMustExist() throws {
        let named = try read("{ folders: [p], python: /no/where }")
        #expect(
            mistakes { () throws(Diagnostics) in _ = try named.processes(places: ["/bin/true"]) } == [
                "carillon.yaml:3:10: plugins.python: expected an interpreter, such as /usr/bin/python3; /no/where is "
                    + "not a program"
            ]
        )
        let settings = try read("{ folders: [p], python: /bin/true }").processes(places: ["/bin/true"])
        #expect(settings.python.interpreter == "/bin/true")
    }

    /// A reload then rejects added plugins by their names.
    @Test func pluginHostIsOptionalWithoutPluginFolders() throws {
        #expect(try read("{}").processes(places: ["/no/where"]).program == "/no/where")
    }

    // MARK: Reloads

    @Test(arguments: [
        "deadline_seconds: 9", "limits: { memory_mib: 64 }", "sandbox: false", "program: /bin/true",
    ])
    func changesRequireARestart(_ change: String) throws {
        let old = try read("{ folders: [p] }")
        #expect(try old.isExtended(by: read("{ folders: [p, q] }")))
        #expect(try !old.isExtended(by: read("{ folders: [p, q], \(change) }")))
    }
}
