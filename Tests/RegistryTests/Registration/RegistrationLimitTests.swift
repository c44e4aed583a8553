import Nostr
import Notifications
import Testing

@testable import Registry

/// What one key may register, and all together.
@Suite struct RegistrationLimitTests {
    private func bench(_ change: (inout RegistrationDesk.Limits) -> Void) throws -> Bench {
        var limits = RegistrationDesk.Limits()
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

    @Test func aKeyRegistersSoManyAnHour() throws {
        let bench = try bench {
            $0.registrationBurst = 2
            $0.registrationsPerKeyPerHour = 1
        }
        for at: Int64 in 0..<2 { #expect(try register(bench, 1, "t\(at)", at: at).isAccepted) }
        let refused = try register(bench, 1, "t2", at: 2)
        #expect(refused.message == "rate-limited: at most 1 registrations of one key an hour")
        #expect(try register(bench, 2, "u", at: 2).isAccepted)
        // What is known already costs nothing, and nobody is kept from leaving.
        #expect(try register(bench, 1, "t1", at: 1) == .duplicate)
        #expect(try deregister(bench, 1, at: 3) == .deregistered)
        #expect(try deregister(bench, 1, at: 4).message.hasPrefix("rate-limited: "))
        bench.clock.now += 3_600_000
        #expect(try register(bench, 1, "t3", at: 5).isAccepted)
    }

    @Test func thereAreSoManyDevicesAltogether() throws {
        let bench = try bench { $0.devices = 2 }
        #expect(try register(bench, 1, "a").isAccepted)
        #expect(try register(bench, 2, "b").isAccepted)
        let refused = try register(bench, 3, "c")
        #expect(refused.message == "blocked: this router has as many devices as it takes")
        // A device that is there stays, a token may move, and who leaves makes room.
        #expect(try register(bench, 1, "a2", at: 1).isAccepted)
        #expect(try register(bench, 4, "b", at: 1).isAccepted)
        #expect(try deregister(bench, 1, at: 2) == .deregistered)
        #expect(try register(bench, 3, "c", at: 2).isAccepted)
    }

    @Test func oneSignerCannotPushOutWhatWaits() throws {
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
