import Pipeline
import Storage
import Testing

@testable import CarillonRouter
@testable import RouterConfiguration

@Suite struct FilterConfigurationTests {
    private func read(_ filters: String) throws -> [Configuration.Filter] {
        let text = "identity: { key_file: k }\nstore: { path: s }\n" + filters
        return try ConfigurationReader(name: "carillon.yaml", folder: "/etc/carillon", environment: { _ in nil })
            .read(text).filters
    }

    private func mistakes(in filters: String) -> [String] {
        let mistakes = #expect(throws: Diagnostics.self) { _ = try read(filters) }
        return mistakes?.all.map { "\($0.line): \($0.message)" } ?? []
    }

    @Test func filtersDefaultToNone() throws {
        #expect(try read("").isEmpty && read("filter_plugins: {}").isEmpty)
    }

    @Test func filtersComeInTheOrderOfTheFile() throws {
        let filters = try read(
            """
            filter_plugins:
              web-of-trust: { devices: may-switch-on, on_error: drop, settings: { level: follows } }
              mutes: {}
              another:
                devices: always
                settings: { word_file: words.txt }
            """
        )
        #expect(filters.map(\.name) == ["web-of-trust", "mutes", "another"])
        #expect(filters.map(\.availability) == [.maySwitchOn, .maySwitchOff, .always])
        #expect(filters.map(\.onError) == [.drop, .pass, .pass])
        #expect(filters.map(\.line) == [4, 5, 7])
        #expect(filters[0].settings == #"{"level":"follows"}"# && filters[1].settings == "{}")
        #expect(filters[2].settings.contains("/etc/carillon/words.txt"))
    }

    /// A name from the environment may be secret. The plugin rejects a value that is not a list of strings.
    @Test func signalsHaveTheirPositions() throws {
        let filters = try ConfigurationReader(
            name: "carillon.yaml",
            folder: "/",
            environment: { ["SECRET": "secret"][$0] }
        ).read(
            """
            identity: { key_file: k }
            store: { path: s }
            filter_plugins:
              noise:
                settings:
                  except: [dm, "zaps", "${SECRET}", { dm: 1 }, null]
                  difficulty:
                    mention: 8
                    relpy: 8
              web-of-trust: { settings: { level: follows, except: [] } }
              another: { settings: { except: [anything] } }
            """
        ).filters
        let noise = "filter_plugins.noise.settings"
        #expect(
            filters[0].signals == [
                Configuration.NamedSignal(name: "dm", path: "\(noise).except[0]", line: 6, column: 16),
                Configuration.NamedSignal(name: "zaps", path: "\(noise).except[1]", line: 6, column: 20),
                Configuration.NamedSignal(name: "mention", path: "\(noise).difficulty.mention", line: 8, column: 18),
                Configuration.NamedSignal(name: "relpy", path: "\(noise).difficulty.relpy", line: 9, column: 16),
            ]
        )
        #expect(filters[1].signals.isEmpty && filters[2].signals.isEmpty)
    }

    @Test(arguments: [
        ("filter_plugins: [mutes]", "expected a mapping"),
        ("filter_plugins: { mutes: { device: always } }", "unknown key 'device'"),
        ("filter_plugins: { mutes: { devices: never } }", "is none of always, may-switch-off, may-switch-on"),
        ("filter_plugins: { mutes: { on_error: ignore } }", "is none of pass, drop"),
        ("filter_plugins: { mutes: { settings: [1] } }", "expected a mapping"),
    ])
    func errorsAreNamed(filters: String, mistake: String) {
        let found = mistakes(in: filters)
        #expect(found.contains { $0.contains(mistake) }, "\(found)")
    }
}
