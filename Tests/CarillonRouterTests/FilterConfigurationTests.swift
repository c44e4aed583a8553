import Pipeline
import Testing
import YAMLReading

@testable import CarillonRouter

/// The block on filters.
@Suite struct FilterConfigurationTests {
    private func read(_ filters: String) throws -> [Configuration.Filter] {
        let text = "identity: { key_file: k }\nstore: { path: s }\n" + filters
        return try ConfigurationReader(name: "carillon.yaml", folder: "/etc/carillon", environment: { _ in nil })
            .read(text).filters
    }

    private func mistakes(in filters: String) -> [String] {
        let mistakes = #expect(throws: Mistakes.self) { _ = try read(filters) }
        return mistakes?.all.map { "\($0.line): \($0.message)" } ?? []
    }

    @Test func withoutTheBlockThereIsNoFilter() throws {
        #expect(try read("").isEmpty && read("filters: {}").isEmpty)
    }

    @Test func filtersComeInTheOrderOfTheFile() throws {
        let filters = try read(
            """
            filters:
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

    @Test(arguments: [
        ("filters: [mutes]", "expected a mapping"),
        ("filters: { mutes: { device: always } }", "unknown key 'device'"),
        ("filters: { mutes: { devices: never } }", "is none of always, may-switch-off, may-switch-on"),
        ("filters: { mutes: { on_error: ignore } }", "is none of pass, drop"),
        ("filters: { mutes: { settings: [1] } }", "expected a mapping"),
    ])
    func mistakesAreNamed(filters: String, mistake: String) {
        let found = mistakes(in: filters)
        #expect(found.contains { $0.contains(mistake) }, "\(found)")
    }
}
