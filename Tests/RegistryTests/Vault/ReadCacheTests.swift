import Core
import Nostr
import Push
import Testing

@testable import Registry

struct ReadCacheTests {
    @Test func valueReadBeforeAChangeIsNotCached() {
        var cache = ReadCache<DeviceID, DeviceAddress>(capacity: 10)
        let device = DeviceID(rawValue: 1)
        let generation = cache.generation
        cache.forget([device])
        cache.remember(address(1), of: device, readIn: generation)
        #expect(cache.value(of: device) == nil)
        cache.remember(address(2), of: device, readIn: cache.generation)
        #expect(cache.value(of: device) == address(2))
        cache.forget([device])
        #expect(cache.value(of: device) == nil)
    }

    @Test func cachedAddressFollowsItsDevice() throws {
        let bench = try Bench()
        let device = DeviceID(rawValue: 1)
        func token() throws -> String? {
            _ = try bench.registry.address(of: device)
            return try bench.registry.address(of: device)?.token
        }
        _ = try bench.registry.learn(bench.deviceList(of: 1))
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("one")))
        #expect(try token() == nil)
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11], at: 1))
        #expect(try token() == "one")
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("two"), at: 1))
        #expect(try token() == "two")
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [12], at: 2))
        #expect(try token() == nil)
        _ = try bench.registry.apply(bench.event(of: 2, Samples.phone("three")))
        let other = try #require(try bench.registry.devices(of: bench.key(2)).first?.device)
        #expect(try bench.registry.address(of: other)?.token == "three")
        _ = try bench.registry.apply(bench.event(of: 3, Samples.phone("three"), at: 1))
        #expect(try bench.registry.address(of: other) == nil, "the token moved")
    }

    private func address(_ number: Int64) -> DeviceAddress {
        DeviceAddress(
            platform: "ios",
            app: "default",
            token: "token-\(number)",
            registeredAt: Timestamp(milliseconds: number)
        )
    }
}
