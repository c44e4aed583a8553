import Foundation
import JSON
import Logging
import PlatformTestSupport
import PluginHost
import Push
import Rules
import Testing

@testable import CarillonRouter
@testable import RouterConfiguration

/// Only plugins know the keys of their platform blocks; the configuration's schema must have the same.
struct PlatformBlockSchemaTests {
    private static let unknown = "an_unknown_key"

    @Test func pluginsAcceptTheSchemasKeys() throws {
        let plugins = try BuiltPlugins(all: true)
        let host = try plugins.load()
        let blocks = PlatformBlockSchema.all(.builtIn)
        #expect(Set(blocks.map(\.key)) == Set(BuiltPlugins.platforms).union(BuiltPlugins.overStreams.keys))
        for (platform, block) in blocks {
            let error = #expect(throws: PluginError.self, "\(platform)") {
                _ = try host.makeTransport(
                    platform: platform,
                    app: "default",
                    configuration: #"{"\#(Self.unknown)":1}"#,
                    settings: InstanceSettings(
                        sender: RecordingHTTP(),
                        log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                    )
                )
            }
            let words = try #require(error.map { "\($0)" })
            #expect(words.contains(Self.unknown))
            let properties = try #require(block.members.first { $0.key == "properties" }).value.members.map(\.key)
            let expected =
                properties.isEmpty ? "expected no keys at all" : "expected only " + properties.joined(separator: ", ")
            #expect(words.hasSuffix(expected), "\(words)")
        }
    }
}
