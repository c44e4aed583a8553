import Cipher
import Core
import Foundation
import GRDB
import Push
import Synchronization

extension DeviceID {
    /// The number of a device of the sealed ingress. It is negative, so it never equals a registered device's number.
    init(ingressRow row: Int64) {
        self.init(rawValue: -row)
    }

    /// Whether the sealed ingress created this device, without a registration.
    package var isOfIngress: Bool { rawValue < 0 }

    var ingressRow: Int64 { -rawValue }
}

/// Whether a push for a device of the sealed ingress can be sent.
package enum IngressDecision: Sendable, Hashable {
    case admitted(DeviceID)
    /// Its push service recently reported it as gone.
    case gone
    /// Its transport does not accept such a token.
    case invalid
    /// There are too many devices, all of them recently used and none of them gone.
    case full
}

/// Limits for remembering devices of the sealed ingress.
package struct IngressDeviceLimits: Sendable, Equatable {
    /// The maximum number of devices. A new one replaces the least recently used device, or else one that is gone.
    package var devices: Int
    /// How long a device stays gone. After that the router tries one more push, because a token can become valid again
    /// when an app is reinstalled or an operator corrects the environment, and only Apple's response shows it.
    package var goneFor: Duration
    /// The minimum time that a device is kept after its last use, because pushes to it may be in flight.
    package var keptFor: Duration
    /// The precision of the stored time of last use, so that not every push is a write.
    package var exactness: Duration

    package init(
        devices: Int = 1_000_000,
        goneFor: Duration = .days(1),
        keptFor: Duration = .hours(3),
        exactness: Duration = .hours(1)
    ) {
        self.devices = max(1, devices)
        self.goneFor = goneFor
        self.keptFor = keptFor
        self.exactness = exactness
    }
}

/// A device token from a URL of the sealed ingress, without a registration.
package struct IngressToken: Sendable, Hashable, Concealed {
    /// Lower-case hex digits.
    package let token: String
    /// Whether it belongs to the platform's development environment.
    package let isSandbox: Bool
    /// The operator's app block it belongs to.
    package let app: String
    /// The platform that the sealed ingress serves.
    package let platform: String

    package init(token: String, isSandbox: Bool, app: String, platform: String) {
        self.token = token
        self.isSandbox = isSandbox
        self.app = app
        self.platform = platform
    }

    private var environment: String { isSandbox ? "sandbox" : "production" }

    /// The address for pushes. It has no registration event, so it counts as registered at time zero: a push service
    /// may report it gone at any time.
    func address(_ platforms: PlatformCatalog) -> DeviceAddress {
        DeviceAddress(
            platform: platform,
            app: app,
            token: token,
            fields: platforms[platform]?.ingress?.fields[environment] ?? [:],
            registeredAt: .epoch
        )
    }

    /// The input of its handle. No token of a registration contains these spaces.
    var name: String { "ingress \(platform) \(environment) \(app) \(token)" }
}

/// The devices of the sealed ingress, whose tokens come in URLs. They have no account, and events never match them.
final class IngressDevices: Sendable {
    private let store: RegistryStore
    private let vault: TokenVault
    private let secrets: DeviceSecrets
    private let platforms: CurrentPlatforms
    private let check: PlatformCheck
    private let now: @Sendable () -> Timestamp

    init(
        store: RegistryStore,
        vault: TokenVault,
        secrets: DeviceSecrets,
        platforms: CurrentPlatforms,
        check: @escaping PlatformCheck,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.vault = vault
        self.secrets = secrets
        self.platforms = platforms
        self.check = check
        self.now = now
    }

    func admit(_ tokens: [IngressToken], limits: IngressDeviceLimits) throws -> [IngressDecision] {
        let now = now()
        let catalog = platforms.catalog
        let handles = tokens.map { vault.handle(of: $0.name) }
        let known = try store.read { rows in try handles.map { try rows.ingressDevice(of: $0) } }
        let admissions = zip(tokens, known).map { token, known in
            known.map { $0.admission(limits, now: now) } ?? (isValid(token, catalog) ? nil : .invalid)
        }
        guard admissions.contains(nil) else { return admissions.compactMap { $0 } }
        let (settled, _) = try store.writeHere { rows in
            var evicted: [DeviceID] = []
            let settled = try tokens.indices.map { index -> IngressDecision in
                if admissions[index] == .invalid { return .invalid }
                let address = tokens[index].address(catalog)
                return try settle(address, handles[index], limits, now: now, rows, &evicted)
            }
            return (settled, evicted)
        } afterwards: { _, evicted in
            secrets.forget(evicted)
        }
        return settled
    }

    func markGone(_ device: DeviceID) throws {
        let now = now()
        try store.writeHere { rows in
            try rows.markIngressDeviceGone(device, now: now)
        } afterwards: {
            secrets.forget([device])
        }
    }

    private func settle(
        _ address: DeviceAddress,
        _ handle: [UInt8],
        _ limits: IngressDeviceLimits,
        now: Timestamp,
        _ rows: RegistryRows,
        _ evicted: inout [DeviceID]
    ) throws -> IngressDecision {
        if let known = try rows.ingressDevice(of: handle) {
            if let admission = known.admission(limits, now: now) { return admission }
            try rows.useIngressDevice(known.device, now: now)
            if known.goneAt != nil {
                try put(address, of: known.device, rows)
                try rows.setProven(known.device, false)
            }
            return .admitted(known.device)
        }
        if try rows.ingressDeviceCount() >= limits.devices {
            guard let forgotten = try rows.evictIngressDevice(unusedSince: now - limits.keptFor) else { return .full }
            evicted.append(forgotten)
        }
        let device = try rows.addIngressDevice(handle: handle, now: now)
        try rows.setProven(device, false)
        try put(address, of: device, rows)
        return .admitted(device)
    }

    private func put(_ address: DeviceAddress, of device: DeviceID, _ rows: RegistryRows) throws {
        let sealed = try vault.seal(AddressCodec.encode(address), of: device, for: .address)
        try rows.putIngressAddress(of: device, sealed)
    }

    /// A missing transport is an operator's problem and does not make the token invalid.
    private func isValid(_ token: IngressToken, _ catalog: PlatformCatalog) -> Bool {
        do {
            try check(token.address(catalog))
            return true
        } catch let refusal as RegistrationError {
            return !refusal.isInvalid
        } catch {
            return true
        }
    }
}

extension IngressDeviceRow {
    /// Returns the decision that the row implies; nil if the row must be updated first.
    fileprivate func admission(_ limits: IngressDeviceLimits, now: Timestamp) -> IngressDecision? {
        if let goneAt, now - goneAt < limits.goneFor, goneAt <= now { return .gone }
        return goneAt == nil && now - usedAt < limits.exactness ? .admitted(device) : nil
    }
}

/// A device of the sealed ingress as it is on disk.
struct IngressDeviceRow {
    let device: DeviceID
    /// To the precision of ``IngressDeviceLimits/exactness``.
    let usedAt: Timestamp
    /// When its push service reported it as gone; nil: it is not gone.
    let goneAt: Timestamp?
}

extension RegistryRows {
    func ingressDevice(of handle: [UInt8]) throws -> IngressDeviceRow? {
        try one("SELECT id, used_at, gone_at FROM ingress_devices WHERE handle = ?", [Data(handle)]).map {
            IngressDeviceRow(device: DeviceID(ingressRow: $0[0]), usedAt: $0[1], goneAt: $0[2])
        }
    }

    /// Adds a device without an address.
    func addIngressDevice(handle: [UInt8], now: Timestamp) throws -> DeviceID {
        try execute("INSERT INTO ingress_devices (handle, used_at) VALUES (?, ?)", [Data(handle), now])
        return DeviceID(ingressRow: db.lastInsertedRowID)
    }

    func useIngressDevice(_ device: DeviceID, now: Timestamp) throws {
        try execute("UPDATE ingress_devices SET used_at = ? WHERE id = ?", [now, device.ingressRow])
    }

    /// Stores the address of a device, which then no longer counts as gone.
    func putIngressAddress(of device: DeviceID, _ sealed: [UInt8]) throws {
        try execute(
            "UPDATE ingress_devices SET address = ?, gone_at = NULL WHERE id = ?",
            [Data(sealed), device.ingressRow]
        )
    }

    func markIngressDeviceGone(_ device: DeviceID, now: Timestamp) throws {
        try execute("UPDATE ingress_devices SET address = NULL, gone_at = ? WHERE id = ?", [now, device.ingressRow])
    }

    func ingressDeviceCount() throws -> Int {
        try one("SELECT count FROM ingress_device_count")?[0] ?? 0
    }

    /// Forgets the least recently used device. If all were used since `limit`, forgets the device that was gone first,
    /// because no push is in flight to it. Returns nil if there is no such device.
    func evictIngressDevice(unusedSince limit: Timestamp) throws -> DeviceID? {
        let oldest = "SELECT id FROM ingress_devices WHERE used_at < ? ORDER BY used_at LIMIT 1"
        let gone = "SELECT id FROM ingress_devices WHERE gone_at IS NOT NULL ORDER BY gone_at LIMIT 1"
        guard let row = try one(oldest, [limit]) ?? one(gone) else { return nil }
        let device = DeviceID(ingressRow: row[0])
        try execute("DELETE FROM ingress_devices WHERE id = ?", [device.ingressRow])
        return device
    }

    func sealedIngressAddress(of device: DeviceID) throws -> SealedAddress? {
        let sql = "SELECT address, \(Self.isProven) FROM ingress_devices WHERE id = -?1"
        return try one(sql, [device.rawValue]).flatMap { row in
            (row[0] as Data?).map { SealedAddress(bytes: Array($0), isProven: row[1]) }
        }
    }
}
