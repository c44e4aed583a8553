import Core
import JSON
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

/// Changes that an owner makes without a registration.
@Suite struct PreferenceChangeTests {
    private static let alice: UInt8 = 0x21
    private static let bob: UInt8 = 0x22
    private static let token = String(repeating: "ab", count: 32)

    private func change(_ json: String) throws -> PreferenceChange {
        guard case .object(let object) = try JSONValue(parsing: json) else { throw RegistrationError.invalid("") }
        return try PreferenceChange(object)
    }

    private func register(_ bench: Bench, further: String = "", at seconds: Int64 = 0) throws -> DeviceID {
        let json = Samples.phone(Self.token, further: further)
        let event = try bench.event(of: Self.alice, json, at: seconds, id: UInt8(truncatingIfNeeded: 0x80 + seconds))
        switch try bench.registry.apply(event) {
        case .registered(let device), .updated(let device): return device
        case let other: throw RegistrationError.invalid("\(other)")
        }
    }

    @Test func changeReplacesOnlyNamedPreferences() throws {
        let bench = try Bench()
        let further = #","mode":"wake","batch":{"cooldown_seconds":5,"daily_cap":9},"extra":"kept","partners":[]"#
        let device = try register(bench, further: further)
        var address = try #require(try bench.registry.address(of: device))
        let json = """
            {"mode":"alert","batch":{"cooldown_seconds":60,"window_seconds":null},"filters":{"reply":false,"zap":true},
            "quiet":{"start":"22:00","end":"07:00","tz":"UTC+1"},"locale":"de"}
            """
        #expect(try bench.registry.change(device, of: bench.account(Self.alice).publicKey, by: change(json)))
        let content = try #require(try bench.registry.content(of: device))
        #expect(content.mode == .alert && content.batch.cooldown == .seconds(60) && content.batch.dailyCap == 9)
        #expect(content.signals == [.zap] && content.locale == "de" && content.quiet?.start.minutes == 22 * 60)
        #expect(content.json.contains(#""extra":"kept""#) && content.token == Self.token)
        let preferences = try #require(try bench.registry.preferences(of: device))
        #expect(preferences.pace.batch.cooldown == .seconds(60) && preferences.pace.quiet != nil)
        address.mode = .alert
        #expect(try bench.registry.address(of: device) == address)
        let listing = try #require(try bench.registry.listing(of: device))
        #expect(listing.mode == .alert && listing.signals == [.zap])
        // The same after a restart.
        try bench.reopen()
        #expect(try bench.registry.listing(of: device)?.mode == .alert)
        #expect(try bench.registry.content(of: device)?.batch.cooldown == .seconds(60))
    }

    @Test func changedPreferenceReachesTheIndex() throws {
        let bench = try Bench()
        let device = try register(bench)
        var index = try bench.registry.load()
        #expect(
            try bench.registry.change(
                device,
                of: bench.account(Self.alice).publicKey,
                by: change(#"{"mode":"nudge","filters":{"zap":true}}"#)
            )
        )
        var seen: [IndexedDevice] = []
        bench.registry.update(&index) { if case .put(let device) = $0 { seen.append(device) } }
        #expect(seen.map(\.device) == [device] && seen.first?.mode == .nudge)
        #expect(seen.first?.signals == SignalNames()[.zap])
    }

    @Test func otherAccountsDevicesAreUnknown() throws {
        let bench = try Bench()
        let device = try register(bench)
        let (alice, bob) = (try bench.account(Self.alice).publicKey, try bench.account(Self.bob).publicKey)
        #expect(try !bench.registry.change(device, of: bob, by: change(#"{"mode":"alert"}"#)))
        #expect(try !bench.registry.change(DeviceID(rawValue: 99), of: alice, by: change(#"{"mode":"alert"}"#)))
        #expect(try bench.registry.listing(of: device)?.mode == nil)
    }

    @Test(arguments: [
        #"{"mode":"loud"}"#, #"{"batch":{"cooldown_seconds":-1}}"#, #"{"quiet":{"start":"25:00"}}"#,
        #"{"filters":{"NOT A SIGNAL":true}}"#, #"{"quiet":{"start":"22:00","end":"07:00","tz":"Nowhere/City"}}"#,
    ])
    func invalidChangeIsRefusedAndChangesNothing(_ json: String) throws {
        let bench = try Bench()
        let device = try register(bench, further: #","mode":"wake""#)
        let before = try bench.registry.content(of: device)
        let change = try change(json)
        #expect(throws: RegistrationError.self) {
            try bench.registry.change(device, of: bench.account(Self.alice).publicKey, by: change)
        }
        #expect(try bench.registry.content(of: device) == before)
    }

    @Test(arguments: ["token", "platform", "app", "push_endpoint", "subscription", "shared", "partners", "relays"])
    func targetChangeRequiresARegistration(_ name: String) {
        #expect(throws: RegistrationError.self) { try change(#"{"\#(name)":"x"}"#) }
    }

    @Test func newRegistrationOverridesChanges() throws {
        let bench = try Bench()
        let device = try register(bench)
        let alice = try bench.account(Self.alice).publicKey
        #expect(try bench.registry.change(device, of: alice, by: change(#"{"mode":"alert"}"#)))
        #expect(try register(bench, further: #","mode":"wake""#, at: 1) == device)
        #expect(try bench.registry.listing(of: device)?.mode == .wake)
    }

    @Test func blockedAccountStaysOutOfTheIndex() throws {
        let bench = try Bench()
        let device = try register(bench)
        let alice = try bench.account(Self.alice).publicKey
        try bench.registry.put(AccessRule(.key(alice), isBlock: true, madeAt: bench.clock.time))
        var index = try bench.registry.load()
        #expect(try bench.registry.change(device, of: alice, by: change(#"{"mode":"alert"}"#)))
        bench.registry.update(&index)
        #expect(try bench.devices(of: Self.alice, in: index).isEmpty)
        #expect(try bench.registry.removeRule(about: .key(alice)) != nil)
        var seen: [Mode?] = []
        bench.registry.update(&index) { if case .put(let device) = $0 { seen.append(device.mode) } }
        #expect(seen == [.alert])
    }
}
