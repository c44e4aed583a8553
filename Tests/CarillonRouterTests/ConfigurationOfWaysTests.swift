import Core
import Foundation
import Relays
import Storage
import Testing

@testable import CarillonRouter
@testable import RouterConfiguration

/// The configuration blocks for other relays, hints, sessions and context.
@Suite struct ConfigurationOfWaysTests {
    private func read(_ blocks: String, environment: [String: String] = [:]) throws(Diagnostics) -> Configuration {
        try ConfigurationReader(name: "carillon.yaml", folder: "/etc/carillon", environment: { environment[$0] })
            .read(blocks + "\nidentity: { key_file: carillon.key }\nstore: { path: carillon.sqlite }")
    }

    private func mistakes(_ blocks: String, environment: [String: String] = [:]) -> [String] {
        do {
            _ = try read(blocks, environment: environment)
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    @Test func omittedKeyHasItsDefault() throws {
        let configuration = try read("")
        #expect(configuration.relays.always == [] && configuration.relays.nip46 == [])
        #expect(configuration.relays.publish == [])
        #expect(configuration.relays.perUser == .nip65 && configuration.relays.catchUp == .hours(48))
        #expect(configuration.hints.policy == .also && configuration.hints.silentAfter == .minutes(60))
        #expect(!configuration.registration.requireSession && configuration.registration.secretFile == nil)
        #expect(configuration.context.wait == .milliseconds(1_500))
        #expect(configuration.context.file(nextTo: configuration.store) == "/etc/carillon/carillon.sqlite-context")
        #expect(configuration.feed == nil)
    }

    @Test func everyKeyIsRead() throws {
        let configuration = try read(
            """
            relays:
              always: [wss://one.example.com, "${RELAY}", WSS://ONE.example.com:443/]
              per_user: registration
              nip46: wss://three.example.com/path/
              publish: []
              catch_up_hours: 6
            hints: { mode: prefer, silent_minutes: 15 }
            registration: { require_session: true, secret_file: secrets }
            context: { wait_milliseconds: 0, path: /var/cache/carillon }
            """,
            environment: ["RELAY": "ws://10.0.0.2:7777"]
        )
        #expect(configuration.relays.always.map(\.text) == ["wss://one.example.com", "ws://10.0.0.2:7777"])
        #expect(configuration.relays.perUser == .registration)
        #expect(configuration.relays.nip46 == [RelayURL("wss://three.example.com/path/")])
        #expect(configuration.relays.publish == [])
        #expect(configuration.relays.catchUp == .hours(6))
        #expect(configuration.hints.policy == .prefer && configuration.hints.silentAfter == .minutes(15))
        #expect(configuration.registration.requireSession)
        #expect(configuration.registration.secretFile == "/etc/carillon/secrets")
        #expect(configuration.context.wait == .zero)
        #expect(configuration.context.file(nextTo: configuration.store) == "/var/cache/carillon")
    }

    @Test func sessionsAndAdvertisementFollowTheOperatorsRelays() throws {
        let relays = try read("relays: { always: wss://one.example.com, nip46: [] }").relays
        #expect(relays.publish == [RelayURL("wss://one.example.com")])
        #expect(relays.nip46 == [])
    }

    @Test(arguments: HintPolicy.allCases) func hintsAcceptAShortForm(_ policy: HintPolicy) throws {
        #expect(try read("hints: \(policy.rawValue)").hints.policy == policy)
    }

    @Test func everyErrorIsReportedWithItsLine() {
        let blocks = """
            relay: { url: wss://Notify.example.com/ }
            relays:
              always: [https://one.example.com, wss://, "wss://user:password@one.example.com", wss://notify.example.com, [a]]
              per_user: nip66
              nip46: { relay: wss://one.example.com }
              publish: ${NOWHERE}
              catch_up_hours: 0
              allways: []
            hints: { mode: prefers, silent_minutes: soon, quiet: 1 }
            registration: { require_session: maybe, secret_file: [] }
            context: { wait_milliseconds: 1.5, path: }
            """
        let url = "expected a relay's URL, as in wss://relay.example.com"
        #expect(
            mistakes(blocks) == [
                "carillon.yaml:3:12: relays.always[0]: \(url)",
                "carillon.yaml:3:37: relays.always[1]: \(url)",
                "carillon.yaml:3:45: relays.always[2]: \(url)",
                "carillon.yaml:3:84: relays.always[3]: this is the router's own relay socket "
                    + "(relay.url); remove it",
                "carillon.yaml:3:110: relays.always[4]: expected text",
                "carillon.yaml:4:13: relays.per_user: 'nip66' is none of nip65, registration, none; did you mean 'nip65'?",
                "carillon.yaml:5:10: relays.nip46: expected text",
                "carillon.yaml:6:12: relays.publish: the environment variable ${NOWHERE} is not set",
                "carillon.yaml:7:19: relays.catch_up_hours: expected a whole number from 1 to 720",
                "carillon.yaml:8:3: relays: unknown key 'allways'; did you mean 'always'?",
                "carillon.yaml:9:16: hints.mode: 'prefers' is none of ignore, also, prefer; did you mean 'prefer'?",
                "carillon.yaml:9:41: hints.silent_minutes: expected a whole number from 1 to 10080",
                "carillon.yaml:9:47: hints: unknown key 'quiet'; known here: mode, silent_minutes",
                "carillon.yaml:10:34: registration.require_session: expected true or false",
                "carillon.yaml:10:54: registration.secret_file: expected text",
                "carillon.yaml:11:31: context.wait_milliseconds: expected a whole number from 0 to 10000",
                "carillon.yaml:11:42: context.path: expected text",
            ]
        )
    }

    @Test(
        arguments: [
            ("relays: []", "relays: expected a mapping with always, per_user, nip46, publish, catch_up_hours"),
            ("hints: []", "hints: expected text"),
            ("hints: sometimes", "hints: 'sometimes' is none of ignore, also, prefer"),
            ("registration: open", "registration: expected a mapping with require_session, secret_file"),
            ("context: 1500", "context: expected off, or a mapping with wait_milliseconds, path"),
        ]
    )
    func malformedBlockIsReportedAtItsPlace(_ block: String, _ message: String) {
        let column = block.prefix { $0 != " " }.count + 2
        #expect(mistakes(block) == ["carillon.yaml:1:\(column): \(message)"])
    }

    @Test func contextCanBeSwitchedOff() throws {
        #expect(try !read("context: off").context.isOn)
        #expect(try read("context: { wait_milliseconds: 5 }").context.isOn)
    }

    @Test func valueOfAnEnvironmentVariableIsNotPrinted() {
        #expect(
            mistakes("relays: { always: \"${RELAY}\" }", environment: ["RELAY": "secret"]) == [
                "carillon.yaml:1:19: relays.always: expected a relay's URL, as in wss://relay.example.com"
            ]
        )
    }

    @Test func exampleListsTheDefaults() throws {
        let example = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../contrib/examples/carillon.yaml")
        let text = try String(contentsOf: example, encoding: .utf8)
        var isOfWays = false
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).compactMap { line -> Substring? in
            let key = line.dropFirst(2).prefix { $0 != ":" }
            if line.hasPrefix("# "), ["relays", "hints", "registration", "context"].contains(key) {
                isOfWays = true
            } else if !line.hasPrefix("#  ") {
                isOfWays = false
            }
            return isOfWays ? line.dropFirst(2) : nil
        }
        let configuration = try read(lines.joined(separator: "\n"))
        let defaults = try read("")
        #expect(configuration.relays.always == [RelayURL("wss://relay.example.com")])
        #expect(configuration.relays.perUser == defaults.relays.perUser)
        #expect(configuration.relays.catchUp == defaults.relays.catchUp)
        #expect(configuration.hints.policy == defaults.hints.policy)
        #expect(configuration.hints.silentAfter == defaults.hints.silentAfter)
        #expect(configuration.registration.requireSession == defaults.registration.requireSession)
        #expect(configuration.registration.secretFile == "/etc/carillon/secrets")
        #expect(configuration.context.wait == defaults.context.wait)
        #expect(
            configuration.context.file(nextTo: configuration.store) == defaults.context.file(nextTo: defaults.store)
        )
    }
}
