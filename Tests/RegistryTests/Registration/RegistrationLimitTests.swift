import Core
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

/// The limits on registrations of one key, and of all keys together.
@Suite struct RegistrationLimitTests {
    private func bench(_ change: (inout RegistrationPolicy.Limits) -> Void) throws -> Bench {
        var limits = RegistrationPolicy.Limits()
        change(&limits)
        return try Bench(limits: limits)
    }

    private func register(_ bench: Bench, _ account: UInt8, _ token: String, at: Int64 = 0) throws -> RegistrationResult
    {
        try bench.registry.apply(bench.event(of: account, Samples.phone(token), at: at, id: UInt8(0x80 + at)))
    }

    private func deregister(_ bench: Bench, _ account: UInt8, at: Int64) throws -> RegistrationResult {
        try bench.registry.apply(bench.event(of: account, content: "", at: at, id: UInt8(0x80 + at)))
    }

    @Test func registrationsPerKeyAndHourAreLimited() throws {
        let bench = try bench {
            $0.registrationBurst = 2
            $0.registrationsPerKeyPerHour = 1
        }
        for at: Int64 in 0..<2 { #expect(try register(bench, 1, "t\(at)", at: at).isAccepted) }
        let refused = try register(bench, 1, "t2", at: 2)
        #expect(refused.message == "rate-limited: at most 1 registrations of one key an hour")
        #expect(try register(bench, 2, "u", at: 2).isAccepted)
        // A known registration costs nothing, and deregistering is always allowed.
        #expect(try register(bench, 1, "t1", at: 1) == .duplicate)
        #expect(try deregister(bench, 1, at: 3) == .deregistered)
        #expect(try deregister(bench, 1, at: 4).message.hasPrefix("rate-limited: "))
        bench.clock.advance(by: .hours(1))
        #expect(try register(bench, 1, "t3", at: 5).isAccepted)
    }

    @Test func totalDevicesAreLimited() throws {
        let bench = try bench { $0.devices = 2 }
        #expect(try register(bench, 1, "a").isAccepted)
        #expect(try register(bench, 2, "b").isAccepted)
        try bench.registry.markProven([DeviceID(rawValue: 1), DeviceID(rawValue: 2)])
        let refused = try register(bench, 3, "c")
        #expect(refused.message == "blocked: this router has as many devices as it takes")
        // A registered device stays, a token may move, and a deregistration frees capacity.
        #expect(try register(bench, 1, "a2", at: 1).isAccepted)
        let moved = try #require(try device(register(bench, 4, "b", at: 1)))
        try bench.registry.markProven([moved])
        #expect(try register(bench, 3, "c", at: 1).message == "blocked: this router has as many devices as it takes")
        #expect(try deregister(bench, 1, at: 2) == .deregistered)
        #expect(try register(bench, 3, "c", at: 2).isAccepted)
    }

    @Test func devicesThatNeverGotAPushAreEvictedFirst() throws {
        let bench = try bench { $0.devices = 3 }
        let reached = try #require(try device(register(bench, 1, "reached")))
        try bench.registry.markProven([reached])
        bench.clock.advance(by: .seconds(10))
        #expect(try register(bench, 2, "older", at: 1).isAccepted)
        #expect(try register(bench, 3, "newer", at: 2).isAccepted)
        // Registering again makes it the last of those to be evicted.
        #expect(try register(bench, 2, "older", at: 3).isAccepted)
        #expect(try register(bench, 4, "one more", at: 4).isAccepted)
        var index = try bench.registry.load()
        #expect(try accounts(in: index, bench) == [1, 2, 4])
        // An evicted device may register again, because no push service reported it as gone.
        #expect(try register(bench, 3, "newer", at: 2).isAccepted)
        #expect(try register(bench, 5, "yet one more", at: 5).isAccepted)
        bench.registry.update(&index)
        #expect(try accounts(in: index, bench) == [1, 4, 5])
        #expect(try bench.registry.storedEvents(of: bench.key(2)) == [])
    }

    @Test func reachedDeviceIsKnownAfterARestart() throws {
        let bench = try Bench()
        let first = try #require(try device(register(bench, 1, "a")))
        let second = try #require(try device(register(bench, 2, "b")))
        for _ in 0..<2 { try bench.registry.markProven([first]) }
        try bench.reopen()
        #expect(try unreached(bench) == second)
        try bench.registry.markProven([second])
        // A new token in the same slot is the same device.
        #expect(try register(bench, 1, "a2", at: 1) == .updated(first))
        #expect(try unreached(bench) == nil)
    }

    private func unreached(_ bench: Bench) throws -> DeviceID? {
        try bench.registry.store.read { try $0.longestUnreachedDevice()?.device }
    }

    private func device(_ result: RegistrationResult) -> DeviceID? {
        if case .registered(let device) = result { device } else { nil }
    }

    private func accounts(in index: borrowing MatchIndex, _ bench: Bench) throws -> [UInt8] {
        var accounts: [UInt8] = []
        for seed in 1...5 as ClosedRange<UInt8> where index.account(of: try bench.key(seed)) != nil {
            accounts.append(seed)
        }
        return accounts
    }

    @Test func oneSignerCannotEvictWaitingRegistrations() throws {
        let bench = try bench {
            $0.waiting = 6
            $0.waitingPerSigner = 2
        }
        #expect(try bench.registry.apply(bench.event(ofDevice: 90, for: 1, Samples.phone("honest"))) == .waiting)
        for number in 0..<20 as Range<UInt8> {
            let event = try bench.event(
                ofDevice: 91,
                for: 2 + number,
                Samples.phone("flood \(number)"),
                id: 0x80 + number,
                deviceID: "d\(number)"
            )
            #expect(try bench.registry.apply(event) == .waiting)
        }
        #expect(try bench.registry.rootsOfInterest() == Set([bench.key(1), bench.key(20), bench.key(21)]))
    }
}
