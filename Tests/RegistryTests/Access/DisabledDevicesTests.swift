import Core
import JSON
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

/// Unreachable devices get no more pushes, and can come back.
struct DisabledDevicesTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func register(_ account: UInt8, _ token: String, at seconds: Int64 = 0, id: UInt8 = 0x80) throws {
        #expect(
            try bench.registry.apply(bench.event(of: account, Samples.phone(token), at: seconds, id: id)).isAccepted
        )
    }

    private func disable(_ device: DeviceID, registeredBefore: Int64 = 0) throws -> Bool {
        try bench.registry.disable(
            device,
            failingSince: Bench.time(-99),
            registeredBefore: Bench.time(registeredBefore)
        )
    }

    private func object(_ json: String) throws -> JSONObject {
        guard case .object(let object) = try JSONValue(parsing: json) else { throw RegistrationError.invalid("") }
        return object
    }

    @Test func disabledDeviceGetsNoPushUntilItIsEnabled() throws {
        try register(1, "one")
        try register(2, "two", id: 0x81)
        var index = try bench.registry.load()
        let device = try #require(bench.devices(of: 1, in: index).first)
        #expect(try disable(device) && !disable(device))
        #expect(try !disable(DeviceID(rawValue: 99)))
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index).isEmpty && bench.devices(of: 2, in: index).count == 1)
        // It can be looked at and tried.
        let suspension = try bench.registry.listing(of: device)?.suspension
        #expect(suspension == DeviceSuspension(disabledAt: bench.clock.now(), failingSince: Bench.time(-99)))
        #expect(try bench.registry.address(of: device)?.token == "one")

        // Neither a restart nor other settings of its owner change that.
        try bench.reopen()
        index = try bench.registry.load()
        #expect(try bench.devices(of: 1, in: index).isEmpty && bench.devices(of: 2, in: index).count == 1)
        let change = try PreferenceChange(object(#"{"mode":"nudge"}"#))
        #expect(try bench.registry.change(device, of: bench.key(1), by: change))
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index).isEmpty)

        #expect(try bench.registry.enable(device) && !bench.registry.enable(device))
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index) == [device])
        #expect(try bench.registry.listing(of: device)?.suspension == nil)
    }

    @Test func newerRegistrationEnablesTheDevice() throws {
        try register(1, "one")
        var index = try bench.registry.load()
        let device = try #require(bench.devices(of: 1, in: index).first)
        #expect(try disable(device))
        // The same event again is only a duplicate.
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("one"))) == .duplicate)
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index).isEmpty)
        bench.clock.advance(by: .seconds(9))
        try register(1, "one", at: 9, id: 0x82)
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index) == [device])
        #expect(try !disable(device, registeredBefore: 8), "it was registered anew since")
        #expect(try disable(device, registeredBefore: 9))
    }

    @Test func deviceStaysDisabledAfterABlockEnds() throws {
        try register(1, "one")
        var index = try bench.registry.load()
        let device = try #require(bench.devices(of: 1, in: index).first)
        let block = try AccessRule(.key(bench.key(1)), isBlock: true, reason: "", madeAt: bench.clock.now(), until: nil)
        #expect(try disable(device))
        try bench.registry.put(block)
        #expect(try bench.registry.enable(device))
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index).isEmpty)
        #expect(try disable(device))
        _ = try bench.registry.removeRule(about: .key(bench.key(1)))
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index).isEmpty, "the end of a block does not switch it on")
    }

    @Test func removedDeviceLeavesNoDisabledEntry() throws {
        try register(1, "one")
        let index = try bench.registry.load()
        let device = try #require(bench.devices(of: 1, in: index).first)
        #expect(try disable(device) && bench.registry.remove(device))
        #expect(try bench.registry.store.read { try $0.devicesOutOfUse() }.isEmpty)
    }
}
