import Core
import Nostr
import Push
import Testing

@testable import Registry

struct SealingKeyTests {
    @Test func sealingKeyPrecedesSubscriptionKeysAndAuthorKey() throws {
        let bench = try Bench()
        let own = try bench.key(9)
        let contents = [
            Samples.web(further: #","sealing_key":"\#(own.hex)""#), Samples.web(endpoint: "https://push.example.com/b"),
            Samples.phone("one"),
            // A transport may have fields by these names.
            Samples.phone("two", further: #","p256dh":"x","auth":"Bearer 1""#),
        ]
        for (number, content) in zip((1 as UInt8)..., contents) {
            _ = try bench.registry.apply(bench.event(of: number, content))
        }
        func keys() throws -> [SealingKey?] {
            try (1...4).map { try bench.registry.sealingKey(of: DeviceID(rawValue: $0)) }
        }
        let expected: [SealingKey] = [
            .nip44(own.bytes.array), .webPush(p256dh: Samples.p256dh, auth: Samples.auth),
            .nip44(try bench.key(3).bytes.array), .nip44(try bench.key(4).bytes.array),
        ]
        #expect(try keys() == expected)
        #expect(try keys() == expected, "from memory")
        #expect(try bench.registry.sealingKey(of: DeviceID(rawValue: 5)) == nil)
        #expect(try bench.registry.sealingKey(of: DeviceID(rawValue: -1)) == nil)
    }

    @Test func cachedKeyFollowsItsDevice() throws {
        let bench = try Bench()
        let device = DeviceID(rawValue: 1)
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        #expect(try bench.registry.sealingKey(of: device) == .nip44(bench.key(1).bytes.array))
        let own = try bench.key(9)
        let second = Samples.phone("one", further: #","sealing_key":"\#(own.hex)""#)
        _ = try bench.registry.apply(bench.event(of: 1, second, at: 1))
        #expect(try bench.registry.sealingKey(of: device) == .nip44(own.bytes.array))
        try bench.registry.removeGone(device, registeredAt: .distantFuture)
        #expect(try bench.registry.sealingKey(of: device) == nil)
    }

    @Test func aDelegatedDevicesKeyIsItsOwn() throws {
        let bench = try Bench()
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("one")))
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("two")))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11], at: 1))
        let devices = try bench.registry.devices(of: bench.key(1))
        let keys = try devices.map { try bench.registry.sealingKey(of: $0.device) }
        #expect(Set(keys) == [.nip44(try bench.key(1).bytes.array), .nip44(try bench.key(11).bytes.array)])
    }
}
