import Core
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

/// Registrations signed by device keys. Account 1 is a root identity, 11 and 12 its devices, 66 an attacker.
struct DelegationTests {
    @Test func deviceKeyHasNoAccountUntilItsRootListsIt() throws {
        let bench = try Bench()
        let event = try bench.event(ofDevice: 11, for: 1, Samples.phone("phone"))
        #expect(try bench.registry.apply(event) == .waiting)
        #expect(try bench.tokens(of: 1) + bench.tokens(of: 11) == [])
        #expect(try bench.registry.apply(event) == .duplicate)
        #expect(try bench.registry.learn(bench.deviceList(of: 1, devices: [12])) == .learned)
        #expect(try bench.tokens(of: 1) == [])
        #expect(try bench.registry.learn(bench.deviceList(of: 1, devices: [12, 11], at: 1)) == .learned)
        #expect(try bench.tokens(of: 1) == ["phone"])
        #expect(try bench.tokens(of: 11) == [])
        #expect(try bench.registry.apply(event) == .duplicate)
    }

    @Test func listedDeviceKeyRegistersImmediatelyEvenAfterARestart() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("root's own")))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        try bench.reopen()
        let result = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("phone")))
        #expect(result == .registered(DeviceID(rawValue: 2)))
        #expect(try bench.tokens(of: 1) == ["phone", "root's own"])
        #expect(try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("new"), at: 1)).isAccepted)
        #expect(try bench.tokens(of: 1) == ["new", "root's own"])
    }

    @Test func anUnprovenRegistrationMovesNoToken() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 2, Samples.phone("victim's")))
        var index = try bench.registry.load()
        let taker = try bench.event(ofDevice: 66, for: 1, Samples.phone("victim's"), at: 100)
        #expect(try bench.registry.apply(taker) == .waiting)
        #expect(try bench.tokens(of: 2) == ["victim's"])
        #expect(bench.registry.update(&index) == 0)
        // Nor for the account that it claims, which has a device of that very name.
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("root's own")))
        for seconds in [200, 300] as [Int64] {
            _ = try bench.registry.apply(bench.event(ofDevice: 66, for: 1, Samples.phone("x"), at: seconds))
            _ = try bench.registry.apply(bench.event(ofDevice: 66, for: 1, "", at: seconds + 1))
        }
        #expect(try bench.tokens(of: 1) == ["root's own"])
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("later"), at: 1)).isAccepted)
    }

    @Test func strangersDeregistrationsDoNotBlockOthers() throws {
        let bench = try Bench()
        let farewells = try (0...RegistryRows.tombstonesPerAccount).map { number in
            try bench.event(ofDevice: 66, for: 1, "", at: 500, deviceID: "d\(number)")
        }
        #expect(try bench.registry.apply(farewells).allSatisfy { $0 == .deregistered })
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("root's own"))).isAccepted)
        #expect(try bench.tokens(of: 1) == ["root's own"])
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        #expect(try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("phone"))).isAccepted)
        #expect(try bench.tokens(of: 1) == ["phone", "root's own"])
    }

    @Test func provenDeviceTakesItsTokenFromItsFormerAccount() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 2, Samples.phone("family-phone")))
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("family-phone"), at: 1))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        #expect(try bench.tokens(of: 1) == ["family-phone"])
        #expect(try bench.tokens(of: 2) == [])
    }

    @Test func waitingRegistrationTakesNoTokenFromALaterOne() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("phone")))
        bench.clock.advance(by: .seconds(10))
        _ = try bench.registry.apply(bench.event(of: 2, Samples.phone("phone"), at: 5))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        #expect(try bench.tokens(of: 2) == ["phone"])
        #expect(try bench.tokens(of: 1) == [])
    }

    @Test func aSharedTokenStaysWithBothWhenADeviceIsProven() throws {
        let bench = try Bench()
        let json = Samples.phone("tablet", further: #","shared":true"#)
        _ = try bench.registry.apply(bench.event(of: 2, json))
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, json, at: 1))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        #expect(try bench.tokens(of: 1) + bench.tokens(of: 2) == ["tablet", "tablet"])
    }

    @Test func deviceIsRevokedAndRestoredWithTheList() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("root's own")))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11, 12]))
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("eleven")))
        _ = try bench.registry.apply(bench.event(ofDevice: 12, for: 1, Samples.phone("twelve")))
        var index = try bench.registry.load()
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [12], at: 1))
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index) == [DeviceID(rawValue: 1), DeviceID(rawValue: 3)])
        #expect(try bench.tokens(of: 1) == ["root's own", "twelve"])
        // An older list that is replayed changes nothing, today or after a restart.
        #expect(try bench.registry.learn(bench.deviceList(of: 1, devices: [11, 12])) == .outdated)
        try bench.reopen()
        #expect(try bench.registry.learn(bench.deviceList(of: 1, devices: [11, 12])) == .outdated)
        #expect(try bench.tokens(of: 1) == ["root's own", "twelve"])
        #expect(try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("again"), at: 2)) == .waiting)
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11], at: 3))
        #expect(try bench.tokens(of: 1) == ["again", "root's own"])
    }

    @Test func longRevokedDeviceCountsAsNewlyRegistered() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("phone")))
        bench.clock.advance(by: .hours(1))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        #expect(try bench.registry.watchedAccount(bench.key(1))?.registeredAt == Bench.start + 3600)
        let prompt = try Bench()
        _ = try prompt.registry.apply(prompt.event(ofDevice: 11, for: 1, Samples.phone("phone")))
        prompt.clock.advance(by: .minutes(1))
        _ = try prompt.registry.learn(prompt.deviceList(of: 1, devices: [11]))
        #expect(try prompt.registry.watchedAccount(prompt.key(1))?.registeredAt == Bench.start)
    }

    @Test func deviceKeyMayAlwaysDeregister() throws {
        let bench = try Bench()
        let first = try bench.event(ofDevice: 11, for: 1, Samples.phone("phone"))
        _ = try bench.registry.apply(first)
        #expect(try bench.registry.apply(bench.event(ofDevice: 11, for: 1, "", at: 1)) == .deregistered)
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        #expect(try bench.tokens(of: 1) == [])
        #expect(try bench.registry.apply(first) == .outdated, "a replay revives nothing")
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("phone"), at: 2))
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("root's own")))
        // An event without the tag counts too: on relays it replaces the one with it.
        #expect(try bench.registry.apply(bench.event(of: 11, "", at: 3)) == .deregistered)
        #expect(try bench.tokens(of: 1) == ["root's own"])
    }

    @Test func devicesDoNotReplaceEachOtherOrTheRoot() throws {
        let bench = try Bench()
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11, 12]))
        #expect(try bench.registry.learn(bench.deviceList(of: 1, devices: [11, 12])) == .ignored, "nobody's root yet")
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11, 12]))
        for device in [11, 12] as [UInt8] {
            _ = try bench.registry.apply(bench.event(ofDevice: device, for: 1, Samples.phone("\(device)"), at: 1))
        }
        #expect(try bench.tokens(of: 1) == ["11", "12", "one"])
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, "", at: 2))
        #expect(try bench.tokens(of: 1) == ["12", "one"])
    }

    @Test func aDeviceThatChangesItsRootIsAnotherDevice() throws {
        let bench = try Bench()
        for root in [1, 2] as [UInt8] {
            _ = try bench.registry.apply(bench.event(of: root, Samples.phone("root \(root)")))
            _ = try bench.registry.learn(bench.deviceList(of: root, devices: root == 1 ? [11] : []))
        }
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("phone")))
        #expect(try bench.registry.apply(bench.event(ofDevice: 11, for: 2, Samples.phone("phone"), at: 1)) == .waiting)
        #expect(try bench.tokens(of: 1) == ["phone", "root 1"])
        _ = try bench.registry.learn(bench.deviceList(of: 2, devices: [11], at: 2))
        #expect(try bench.tokens(of: 1) == ["root 1"])
        #expect(try bench.tokens(of: 2) == ["phone", "root 2"])
        var index = try bench.registry.load()
        #expect(try bench.devices(of: 2, in: index) == [DeviceID(rawValue: 2), DeviceID(rawValue: 4)])
        #expect(bench.registry.update(&index) == 0)
    }

    @Test func deviceLimitAppliesToWaitingRegistrations() throws {
        let bench = try Bench(limits: RegistrationPolicy.Limits(devicesPerAccount: 1))
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("root's own")))
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("phone")))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        #expect(try bench.tokens(of: 1) == ["root's own"])
        _ = try bench.registry.apply(bench.event(of: 1, "", at: 1))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11], at: 1))
        #expect(try bench.tokens(of: 1) == ["phone"])
    }

    @Test func contentsAreCheckedBeforeTheyWait() throws {
        let bench = try Bench { _ in throw RegistrationError.unsupported("no such platform here") }
        let bad = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, #"{"platform":"ios"}"#))
        #expect(bad.message.hasPrefix("invalid: registration field `token`"))
        let unserved = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("phone"), at: 1))
        #expect(unserved.message == "unsupported: no such platform here")
        #expect(try bench.registry.rootsOfInterest() == [])
    }

    @Test func crowdAtOneRootEvictsOnlyItsOwnOldest() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 2, Samples.phone("other root's")))
        for number in 0...RegistrationPolicy.Limits().waitingPerRoot {
            let device = UInt8(100 + number)
            let event = try bench.event(ofDevice: device, for: 1, Samples.phone("crowd \(number)"))
            #expect(try bench.registry.apply(event) == .waiting)
        }
        let devices = (0...RegistrationPolicy.Limits().waitingPerRoot).map { UInt8(100 + $0) }
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: devices))
        _ = try bench.registry.learn(bench.deviceList(of: 2, devices: [11]))
        #expect(try bench.tokens(of: 1).count == RegistrationPolicy.Limits().waitingPerRoot)
        #expect(try !bench.tokens(of: 1).contains("crowd 0"))
        #expect(try bench.tokens(of: 2) == ["other root's"])
    }

    @Test func authorsSeeTheirNewestEventEvenIfItWaits() throws {
        let bench = try Bench()
        let first = try bench.event(ofDevice: 11, for: 1, Samples.phone("phone"))
        _ = try bench.registry.apply(first)
        #expect(try bench.registry.storedEvents(of: bench.key(11)) == [first])
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        #expect(try bench.registry.storedEvents(of: bench.key(11)) == [first])
        #expect(try bench.registry.storedEvents(of: bench.key(1)) == [])
        let second = try bench.event(ofDevice: 11, for: 2, Samples.phone("phone"), at: 1)
        _ = try bench.registry.apply(second)
        #expect(try bench.registry.storedEvents(of: bench.key(11)) == [second])
    }

    @Test func goneDeviceStaysGoneWhenItsListIsResent() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("phone")))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        try bench.registry.removeGone(DeviceID(rawValue: 1), registeredAt: .distantFuture)
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("root's own")))
        for seconds in [1, 2] as [Int64] {
            _ = try bench.registry.learn(bench.deviceList(of: 1, devices: seconds == 1 ? [] : [11], at: seconds))
        }
        #expect(try bench.tokens(of: 1) == ["root's own"])
    }

    @Test func listingsNameTheDevicesAccount() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("phone")))
        #expect(try bench.registry.devices().isEmpty)
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        let listing = try #require(try bench.registry.devices(of: bench.key(1)).first)
        #expect(try listing.account == bench.key(1))
        #expect(try listing.slot == RegistrationSlot(author: bench.key(11)))
    }
}
