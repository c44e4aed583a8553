import Core
import Foundation
import PlatformTestSupport
import Push
import Storage
import Testing
import TimeTestSupport

@testable import Rules

/// Reads and renders single rules, given as their keys in YAML's flow form.
enum BlockFixture {
    /// 24 February 2026, 12:00 UTC, in milliseconds since 1970.
    static let now: Timestamp = 1_771_934_400_000

    static func yaml(_ keys: String, top: String = "") -> String {
        "version: 1\n\(top)\nrules:\n - { match: { kinds: 7 }, signal: reaction, \(keys) }\n"
    }

    /// Returns the places and messages of the errors, without the file's name.
    static func mistakes(_ keys: String, top: String = "") -> [String] {
        do {
            _ = try RuleBook(yaml: yaml(keys, top: top), name: "r")
            return []
        } catch {
            return error.all.map(\.message)
        }
    }

    static func render(
        _ keys: String,
        _ input: RuleInput = Fixture.input(kind: 7),
        mode: Mode = .alert,
        now: Timestamp = now
    ) throws -> Push.Notification {
        let book = try RuleBook(yaml: yaml(keys), name: "r")
        return try #require(book.rules.first).render(input, signal: .reaction, mode: mode, now: now)
    }

    /// A platform's block as it reaches the plugin.
    static func native(
        _ platform: String,
        _ keys: String,
        _ input: RuleInput = Fixture.input(kind: 7)
    ) throws -> String {
        try #require(try render(keys, input).native[platform])
    }
}
