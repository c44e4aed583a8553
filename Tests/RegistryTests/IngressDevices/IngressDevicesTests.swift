import Core
import Foundation
import GRDB
import Push
import Testing
import TimeTestSupport

@testable import Registry

struct IngressDevicesTests {
    private static let token = String(repeating: "ab", count: 32)

    private func token(_ text: String = token, sandbox: Bool = false, app: String = "default") -> IngressToken {
        IngressToken(token: text, isSandbox: sandbox, app: app, platform: "ios")
    }

    private func device(
        _ bench: Bench,
        _ token: IngressToken,
        _ limits: IngressDeviceLimits = IngressDeviceLimits()
    ) throws
        -> DeviceID?
    {
        guard case .admitted(let device) = try #require(try bench.registry.admit([token], limits: limits).first) else {
            return nil
        }
        return device
    }

    @Test func aTokenKeepsItsNumberAcrossRestarts() throws {
        let bench = try Bench()
        let device = try #require(try device(bench, token()))
        #expect(device.rawValue < 0 && device.isOfIngress)
        #expect(try self.device(bench, token()) == device)
        try bench.reopen()
        #expect(try self.device(bench, token()) == device)
        #expect(
            try bench.registry.ingressAddress(of: device)
                == DeviceAddress(platform: "ios", app: "default", token: Self.token, registeredAt: 0, isProven: false)
        )
    }

    @Test func environmentsAndAppsAreDifferentDevices() throws {
        let bench = try Bench()
        let admissions = try bench.registry.admit([
            token(), token(sandbox: true), token(app: "other"), token(String(repeating: "cd", count: 32)), token(),
        ])
        #expect(Set(admissions).count == 4)
        #expect(admissions.first == admissions.last)
        let sandbox = try #require(try device(bench, token(sandbox: true)))
        #expect(try bench.registry.ingressAddress(of: sandbox)?.fields == ["environment": "sandbox"])
    }

    @Test func ingressDevicesAndRegisteredDevicesAreDistinct() throws {
        let bench = try Bench()
        let ofIngress = try #require(try device(bench, token()))
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone(Self.token))).isAccepted)
        #expect(try bench.tokens(of: 1) == [Self.token])
        #expect(try bench.registry.ingressAddress(of: ofIngress)?.token == Self.token)
        #expect(try bench.registry.address(of: DeviceID(rawValue: -ofIngress.rawValue))?.registeredAt != 0)
        try bench.registry.markIngressDeviceGone(ofIngress)
        #expect(try bench.tokens(of: 1) == [Self.token])
    }

    @Test func goneTokenStaysGoneForADayAndIsThenRetried() throws {
        let bench = try Bench()
        let device = try #require(try device(bench, token()))
        #expect(try bench.registry.ingressAddress(of: device) != nil)
        try bench.registry.markIngressDeviceGone(device)
        #expect(try bench.registry.ingressAddress(of: device) == nil)
        bench.clock.advance(by: .days(1) - .milliseconds(1))
        #expect(try bench.registry.admit([token()]) == [.gone])
        #expect(try bench.registry.admit([token(sandbox: true)]) != [.gone])
        bench.clock.advance(by: .milliseconds(1))
        #expect(try self.device(bench, token()) == device)
        #expect(try bench.registry.ingressAddress(of: device)?.token == Self.token)
        try bench.registry.markIngressDeviceGone(device)
        #expect(try bench.registry.admit([token()]) == [.gone])
    }

    @Test func leastRecentlyUsedDeviceIsForgotten() throws {
        let bench = try Bench()
        let limits = IngressDeviceLimits(devices: 2, keptFor: .seconds(1), exactness: .milliseconds(1))
        let first = try #require(try device(bench, token("01"), limits))
        bench.clock.advance(by: .milliseconds(10))
        let second = try #require(try device(bench, token("02"), limits))
        bench.clock.advance(by: .milliseconds(10))
        #expect(try bench.registry.ingressAddress(of: second) != nil)
        #expect(try device(bench, token("01"), limits) == first)
        // A delivery to either may be in progress.
        #expect(try bench.registry.admit([token("03")], limits: limits) == [.full])
        bench.clock.advance(by: .milliseconds(1_001))
        let third = try #require(try device(bench, token("03"), limits))
        #expect(third < second && second < first)
        #expect(try bench.registry.ingressAddress(of: second) == nil)
        #expect(try bench.registry.ingressAddress(of: first)?.token == "01")
        // Numbers are never given twice.
        bench.clock.advance(by: .seconds(2))
        #expect(try #require(try device(bench, token("02"), limits)) < third)
    }

    /// A client that makes up tokens must not shut out the tokens of others.
    @Test func goneDeviceFreesCapacity() throws {
        let bench = try Bench()
        let limits = IngressDeviceLimits(devices: 3)
        let devices = try ["01", "02", "03"].map { try #require(try device(bench, token($0), limits)) }
        #expect(try bench.registry.admit([token("04")], limits: limits) == [.full])
        try bench.registry.markIngressDeviceGone(devices[1])
        bench.clock.advance(by: .milliseconds(1))
        try bench.registry.markIngressDeviceGone(devices[0])
        #expect(try device(bench, token("04"), limits) != nil)
        #expect(
            try bench.registry.admit([token("01"), token("03")], limits: limits) == [.gone, .admitted(devices[2])]
        )
        #expect(try device(bench, token("05"), limits) != nil)
        #expect(try bench.registry.admit([token("06")], limits: limits) == [.full])
        #expect(try bench.registry.ingressAddress(of: devices[2])?.token == "03")
    }

    @Test func lastUseIsWrittenPeriodically() throws {
        let bench = try Bench()
        let limits = IngressDeviceLimits(exactness: .seconds(1))
        func usedAt() throws -> Timestamp? {
            try DatabaseQueue(path: bench.path).read {
                try Timestamp.fetchOne($0, sql: "SELECT used_at FROM ingress_devices")
            }
        }
        let start = bench.clock.time
        _ = try device(bench, token(), limits)
        bench.clock.advance(by: .milliseconds(999))
        _ = try device(bench, token(), limits)
        #expect(try usedAt() == start)
        bench.clock.advance(by: .milliseconds(1))
        _ = try device(bench, token(), limits)
        #expect(try usedAt() == start + .seconds(1))
    }

    @Test func tokenIsInvalidOnlyIfItsTransportRefusesIt() throws {
        let bench = try Bench { address in
            guard address.platform == "ios" else { return }
            if address.app == "none" { throw RegistrationError.unsupported("no such app") }
            if address.token.count < 64 { throw RegistrationError.invalid("token") }
        }
        #expect(try bench.registry.admit([token("abcd"), token("abcd")]) == [.invalid, .invalid])
        #expect(try device(bench, token("abcd", app: "none")) != nil)
        let mixed = try bench.registry.admit([token("abcd"), token()])
        #expect(mixed.first == .invalid && mixed.last != .invalid)
    }

    @Test func theDatabaseHoldsNoToken() throws {
        let bench = try Bench()
        _ = try device(bench, token())
        let device = try #require(try device(bench, token(sandbox: true)))
        try bench.registry.markIngressDeviceGone(device)
        for file in ["", "-wal"] {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: bench.path + file))
            #expect(bytes.range(of: Data(Self.token.utf8)) == nil)
        }
        let addresses = try DatabaseQueue(path: bench.path).read {
            try Int.fetchAll($0, sql: "SELECT address IS NULL FROM ingress_devices ORDER BY id")
        }
        #expect(addresses == [0, 1])
    }

    @Test func tokenIsProvenByAnAcceptedPush() throws {
        let bench = try Bench()
        let (good, bad) = (token(), token(String(repeating: "cd", count: 32)))
        let devices = try [good, bad].compactMap { try device(bench, $0) }
        #expect(devices.count == 2)
        #expect(try bench.registry.unproven(among: devices) == Set(devices))
        #expect(try bench.registry.ingressAddress(of: devices[0])?.isProven == false)
        try bench.registry.markProven([devices[0]])
        #expect(try bench.registry.ingressAddress(of: devices[0])?.isProven == true)
        try bench.reopen()
        #expect(try bench.registry.unproven(among: devices) == [devices[1]])
        // A day later it is another trial.
        try bench.registry.markIngressDeviceGone(devices[0])
        bench.clock.advance(by: .days(2))
        #expect(try device(bench, good) == devices[0])
        #expect(try bench.registry.unproven(among: devices) == Set(devices))
    }
}
