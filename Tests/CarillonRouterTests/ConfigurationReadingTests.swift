import Core
import Delivery
import Foundation
import HTTPClient
import Nostr
import Observability
import Pipeline
import PlatformTestSupport
import PluginHost
import Push
import Relays
import Rules
import Storage
import Testing

@testable import CarillonRouter
@testable import RouterConfiguration

@Suite struct ConfigurationReadingTests {
    private func read(_ yaml: String) throws(Diagnostics) -> Configuration {
        try ConfigurationReader(
            name: "carillon.yaml",
            folder: "/etc/carillon",
            environment: { $0 == "KEY" ? "/run/key" : nil }
        ).read(yaml)
    }

    @Test func credentialsMayBeMissingWhereTheyAreNotNeeded() throws {
        let yaml = """
            identity: { key_file: carillon.key }
            store: { path: carillon.sqlite }
            apps: { default: { ios: { topic: a, key_file: "${LENT}/apns.p8" }, ntfy: {} } }
            """
        let mistake =
            "carillon.yaml:3:47: apps.default.ios.key_file: the environment variable ${LENT}/apns.p8 is not set"
        #expect(mistakes(yaml) == [mistake])
        let reader = ConfigurationReader(
            name: "carillon.yaml",
            folder: "",
            isWithoutCredentials: true,
            environment: { _ in nil }
        )
        let platforms = try #require(try reader.read(yaml).apps["default"]?.platforms)
        #expect(platforms["ios"]?.unset.map(\.description) == [mistake])
        #expect(platforms["ios"]?.json == #"{"topic":"a"}"# && platforms["ntfy"]?.unset == [])
        #expect(throws: Diagnostics.self) { _ = try reader.read(yaml.replacing("carillon.sqlite", with: "${STORE}")) }
    }

    private func mistakes(_ yaml: String) -> [String] {
        do {
            _ = try read(yaml)
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    @Test func wholeFileIsRead() throws {
        let configuration = try read(
            """
            identity: { key_file: "${KEY}" }
            store: { path: carillon.sqlite }
            relay: { listen: "[::1]:7447", url: wss://notify.example.com, name: Bells }
            rules: rules.yaml
            plugins: { folders: [plugins, /usr/lib/carillon/plugins] }
            http: { allow_private: [10.1.2.0/24], proxy: "http://me:p%40ss@proxy.example:3128" }
            defaults:
              mode: alert
              cooldown_seconds: 0
              daily_cap: 7
              ios: { cooldown_seconds: 90, background_per_hour: 6 }
              unifiedpush: { daily_cap: 0 }
            bounds: { window_seconds: 5, daily_cap: 0 }
            apps:
              default:
                ios: { topic: com.example.app, team_id: TEAMID1234, key_id: ABCDEFGHIJ, key_file: AuthKey.p8 }
                android: { service_account: firebase.json, project_id: my-project }
                unifiedpush: {}
                web: { old_vapid_key_files: [old.pem, /run/older.pem], allowed_hosts: [a.example] }
            """
        )
        #expect(configuration.identity.keyFile == "/run/key")
        #expect(configuration.store.path == "/etc/carillon/carillon.sqlite")
        #expect(configuration.relay.host == "::1" && configuration.relay.port == 7447)
        #expect(configuration.relay.name == "Bells")
        #expect(configuration.rulesFiles == ["/etc/carillon/rules.yaml"])
        #expect(configuration.plugins.folders == ["/etc/carillon/plugins", "/usr/lib/carillon/plugins"])
        #expect(configuration.http.lanes.allowPrivate == ["10.1.2.0/24"])
        #expect(configuration.http.lanes.proxy == "http://me:p%40ss@proxy.example:3128")
        #expect(configuration.defaults.mode == .alert)
        var pacing = PacingPolicy()
        pacing.cooldown = .zero
        pacing.dailyCap = 7
        pacing.platforms = ["ios": .init(), "unifiedpush": .init()]
        pacing.platforms["ios"]?.cooldown = .seconds(90)
        pacing.platforms["ios"]?.backgroundPerHour = 6
        pacing.platforms["unifiedpush"]?.dailyCap = 0
        pacing.leastWindow = .seconds(5)
        pacing.maxDailyCap = 0
        #expect(configuration.defaults.pacing == pacing)
        for (platform, json) in [
            ("unifiedpush", "{}"),
            (
                "ios",
                #"{"key_file":"/etc/carillon/AuthKey.p8","key_id":"ABCDEFGHIJ","team_id":"TEAMID1234","topic":"com.example.app"}"#
            ), ("android", #"{"project_id":"my-project","service_account":"/etc/carillon/firebase.json"}"#),
            (
                "web",
                #"{"allowed_hosts":["a.example"],"old_vapid_key_files":["/etc/carillon/old.pem","/run/older.pem"]}"#
            ),
        ] {
            let block = try #require(configuration.apps["default"]?.platforms[platform])
            #expect(block.json(for: PlatformCatalog.builtIn[platform]) == json)
        }
    }

    @Test func timesMayBeDurations() throws {
        let configuration = try read(
            """
            identity: { key_file: k }
            store: { path: s }
            relays: { catch_up_hours: 2d }
            hints: { silent_minutes: 1h30m }
            context: { wait_milliseconds: 2s }
            trace: { days: 2w, keep_events_hours: 1d }
            dead_letters: { days: 3d }
            plugins: { deadline_seconds: 1m, question_deadline_seconds: 5s }
            defaults: { cooldown_seconds: 2m, ios: { window_seconds: 10s } }
            bounds: { cooldown_seconds: 1h }
            operational_events: { failing_days: 1w, disable_days: 60d }
            shutdown_seconds: 1m
            """
        )
        #expect(configuration.relays.catchUp == .hours(48) && configuration.hints.silentAfter == .minutes(90))
        #expect(configuration.context.wait == .seconds(2))
        #expect(configuration.trace?.days == 14 && configuration.trace?.keptEvents == .hours(24))
        #expect(configuration.deadLetters.days == 3)
        #expect(configuration.plugins.isolation.deadline == .seconds(60))
        #expect(configuration.plugins.isolation.questionDeadline == .seconds(5))
        #expect(configuration.defaults.pacing.cooldown == .seconds(120))
        #expect(configuration.defaults.pacing.platforms["ios"]?.window == .seconds(10))
        #expect(configuration.defaults.pacing.leastCooldown == .hours(1))
        #expect(configuration.operationalEvents?.failingDays == 7 && configuration.operationalEvents?.disableDays == 60)
        #expect(configuration.shutdownTime == .minutes(1))
        let unsuitable = "identity: { key_file: k }\nstore: { path: s }\nrelays: { catch_up_hours: 90m }\n"
        #expect(
            mistakes(unsuitable) == [
                "carillon.yaml:3:27: relays.catch_up_hours: '90m' is not a whole number of hours from 1 to 720; "
                    + "expected one such as 24, 24h or 1d"
            ]
        )
    }

    @Test(arguments: [
        ("", []),
        ("rules: common.yaml", ["/etc/carillon/common.yaml"]),
        ("rules: [own.yaml, /srv/common.yaml]", ["/etc/carillon/own.yaml", "/srv/common.yaml"]),
    ])
    func rulesAreAFileOrSeveral(_ rules: String, _ files: [String]) throws {
        let configuration = try read("identity: { key_file: k }\nstore: { path: s }\n\(rules)\n")
        #expect(configuration.rulesFiles == files)
    }

    @Test func anAppHasRulesOfItsOwn() throws {
        let yaml =
            "identity: { key_file: k }\nstore: { path: s }\napps: { shop: { rules: [a.yaml, /b.yaml], ntfy: {} } }\n"
        let app = try #require(try read(yaml).apps["shop"])
        #expect(app.rulesFiles == ["/etc/carillon/a.yaml", "/b.yaml"] && Array(app.platforms.keys) == ["ntfy"])
        #expect(
            mistakes(yaml.replacing("[a.yaml, /b.yaml]", with: "[]")) == [
                "carillon.yaml:3:24: apps.shop.rules: expected a rules file, or a list of them"
            ]
        )
    }

    @Test(arguments: [
        ("[]", "carillon.yaml:3:8: rules: expected a rules file, or a list of them"),
        ("[a.yaml, /etc/carillon/a.yaml]", "carillon.yaml:3:17: rules[1]: /etc/carillon/a.yaml is named twice"),
        ("{ file: a.yaml }", "carillon.yaml:3:8: rules: expected text"),
    ])
    func invalidRulesValueIsAnError(_ rules: String, _ mistake: String) {
        #expect(mistakes("identity: { key_file: k }\nstore: { path: s }\nrules: \(rules)\n") == [mistake])
    }

    @Test(arguments: Mode.allCases)
    func defaultsTakeEveryMode(mode: Mode) throws {
        let yaml = "identity: { key_file: k }\nstore: { path: s }\ndefaults: { mode: \(mode.name) }\n"
        #expect(try read(yaml).defaults.mode == mode)
    }

    @Test(arguments: [("", false), (", followed: true", true)])
    func relaysAreAskedForContactListsWhereARuleIs(condition: String, isAsked: Bool) throws {
        let rules = "version: 1\nrules:\n  - { match: { kinds: [1]\(condition) }, signal: mention, title: x }\n"
        let pool = try read("identity: { key_file: k }\nstore: { path: s }\n")
            .relayPool(for: RuleBook(yaml: rules, name: "rules.yaml"))
        #expect(pool.furtherLists == (isAsked ? [.contactList] : []))
        #expect(pool.addressedKinds?.contains(.contactList) == false)
    }

    @Test func everyErrorIsReportedWithItsLine() {
        let yaml = """
            identity: { key: carillon.key }
            store: {}
            relay: { listen: somewhere, url: https://notify.example.com }
            plugin: {}
            http: { allow_private: [10.1.2.3/99], ca_file: missing.pem }
            defaults: { mode: loud, cooldown_seconds: -1 }
            bounds: { daily_cap: many, cap: 1 }
            apps: { default: { ios: [] } }
            """
        #expect(
            mistakes(yaml) == [
                "carillon.yaml:1:11: identity: 'key_file' is missing: the file with the router's secret key",
                "carillon.yaml:1:13: identity: unknown key 'key'; known here: key_file",
                "carillon.yaml:2:8: store: 'path' is missing: the database file",
                "carillon.yaml:3:18: relay.listen: expected an address and a port, as in 127.0.0.1:7447 or [::1]:7447",
                "carillon.yaml:3:34: relay.url: expected a URL that starts with wss:// or ws://",
                "carillon.yaml:4:1: unknown key 'plugin'; did you mean 'plugins'?",
                "carillon.yaml:5:25: http.allow_private[0]: expected a network, as in 10.1.2.0/24 or fd00::/8, with no bits set after the prefix",
                "carillon.yaml:5:48: http.ca_file: cannot read /etc/carillon/missing.pem",
                "carillon.yaml:6:19: defaults.mode: 'loud' is none of wake, nudge, sealed, alert",
                "carillon.yaml:6:43: defaults.cooldown_seconds: expected a whole number from 0 to 86400",
                "carillon.yaml:7:22: bounds.daily_cap: expected a whole number from 0 to 1000000",
                "carillon.yaml:7:28: bounds: unknown key 'cap'; known here: cooldown_seconds, window_seconds, daily_cap",
                "carillon.yaml:8:25: apps.default.ios: expected a mapping",
            ]
        )
    }

    @Test(arguments: [
        "proxy.example:3128", "http://proxy.example", "ftp://proxy.example:21",
        "http://me:pass@word@proxy.example:3128",
        "http://proxy.example:3128/path", "http://me:hunter2@:3128", "http://proxy.example:0",
    ])
    func invalidProxyIsNotQuoted(_ url: String) {
        let told = mistakes("identity: { key_file: k }\nstore: { path: s }\nhttp: { proxy: \"\(url)\" }\n")
        #expect(told.count == 1)
        #expect(
            told.first?.hasPrefix("carillon.yaml:3:16: http.proxy: expected a proxy, as in http://host:port") == true
        )
        #expect(told.first?.contains(url) == false)
    }

    @Test(arguments: [
        ("127.0.0.1:7448", "127.0.0.1:7448", true), ("0.0.0.0:7448", "127.0.0.1:7448", true),
        ("127.0.0.1:7448", "[::]:7448", true), ("127.0.0.1:0", "127.0.0.1:0", false),
        ("127.0.0.1:7448", "127.0.0.2:7448", false), ("127.0.0.1:7447", "127.0.0.1:7448", false),
    ])
    func listenersHavePortsOfTheirOwn(_ relay: String, _ api: String, isMistake: Bool) {
        let told = mistakes(
            """
            identity: { key_file: k }
            store: { path: s }
            relay: { listen: "\(relay)" }
            api: { listen: "\(api)", token_file: t }
            """
        )
        let mistake = "carillon.yaml:4:6: api: listens on port 7448, which relay uses too; expected another port"
        #expect(told == (isMistake ? [mistake] : []))
    }

    @Test func rootsMustBeCertificates() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "no-roots-\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        try "not a certificate\n".write(to: file, atomically: true, encoding: .utf8)
        #expect(
            mistakes("identity: { key_file: k }\nstore: { path: s }\nhttp: { ca_file: \(file.path) }\n") == [
                "carillon.yaml:3:18: http.ca_file: expected certificates in PEM, which \(file.path) does not hold"
            ]
        )
    }

    @Test func missingFileIsReported() {
        do {
            _ = try Configuration(file: "/nonexistent/carillon.yaml")
            Issue.record("read a file that is not there")
        } catch {
            #expect(
                error.all.map(\.description) == [
                    "/nonexistent/carillon.yaml: cannot read the configuration: check that the file exists and that this user may read it"
                ]
            )
        }
    }
}
