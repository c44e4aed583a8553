import Core
import Foundation
import GRDB
import Nostr
import Push

/// A row of the `devices` table. Contains no secrets.
struct DeviceRow: Hashable {
    var slot: RegistrationSlot
    var account: PublicKey
    var mark: SlotMark
    /// When it was registered with this event.
    var registeredAt: Timestamp
    var route: RouteID
    var mode: Mode?
    var signals: SignalSet
    var furtherSignals: [Signal]
    var locale: LanguageTag?
    /// Whether the registration named a separate key for sealing.
    var hasSealingKey: Bool
    /// The number of the router's key that it is registered to.
    var routerKey: Int
}

/// The address of a device as stored on disk.
struct SealedAddress {
    let bytes: [UInt8]
    /// Whether a push service has accepted a push for its token.
    let isProven: Bool
    /// The author and the account of its registration. Nil for a device of the sealed ingress.
    var owners: (author: PublicKey, account: PublicKey)?
    /// The locale that its app registered, as a language tag.
    var locale: String?
    var mode: Mode?
}

extension RegistryRows {
    /// The device that is in a slot.
    func device(in slot: RegistrationSlot) throws -> RegisteredDevice? {
        try one(
            "SELECT \(Self.holderColumns) FROM devices WHERE author = ? AND device_id = ?",
            [slot.author.bytes.data, slot.deviceID]
        ).map(holder)
    }

    func device(_ id: DeviceID) throws -> RegisteredDevice? {
        try one("SELECT \(Self.holderColumns) FROM devices WHERE id = ?", [id.rawValue]).map(holder)
    }

    /// Whether a device has that route and the token of that handle.
    func isRegistered(_ device: DeviceID, on route: RouteID, _ handle: [UInt8]) throws -> Bool {
        try one(
            "SELECT 1 FROM devices JOIN secrets ON id = device WHERE id = ? AND route = ? AND handle = ?",
            [device.rawValue, Int64(route.rawValue), Data(handle)]
        ) != nil
    }

    /// Whether at least `count` devices exist. Device numbers ascend and are never reused, so the last number is an
    /// upper bound and counting is rarely necessary.
    func devices(atLeast count: Int) throws -> Bool {
        let last: Int64 = try one("SELECT coalesce(max(id), 0) FROM devices")?[0] ?? 0
        guard last >= count else { return false }
        return (try one("SELECT count(*) FROM devices")?[0] ?? 0) >= count
    }

    /// The device that never got a push and has not registered for the longest time. Nil if every device got one.
    func longestUnreachedDevice() throws -> RegisteredDevice? {
        try one("SELECT \(Self.holderColumns) FROM devices WHERE is_reached = 0 ORDER BY registered_at LIMIT 1").map(
            holder
        )
    }

    /// Records that a push service accepted a push for the device, with its current token or an earlier one.
    func markReached(_ device: DeviceID) throws {
        try execute("UPDATE devices SET is_reached = 1 WHERE id = ? AND is_reached = 0", [device.rawValue])
    }

    /// The devices of an account that keys other than its own registered.
    func delegatedDevices(of account: PublicKey) throws -> [RegisteredDevice] {
        try all(
            "SELECT \(Self.holderColumns) FROM devices WHERE account = ? AND root IS NOT NULL",
            [account.bytes.data]
        ).map(holder)
    }

    /// The devices outside `slot` on that route that have the token of that handle. The same text on another platform
    /// or under another app is another token.
    func holders(
        of handle: [UInt8],
        on route: Route,
        outside slot: RegistrationSlot
    ) throws -> [RegisteredDevice] {
        let rows = try all(
            """
            SELECT \(Self.holderColumns)
            FROM secrets JOIN devices ON devices.id = device JOIN routes ON routes.id = route
            WHERE handle = ? AND platform = ? AND app = ?
            """,
            [Data(handle), route.platform, route.app]
        )
        return try rows.map(holder).filter { $0.slot != slot }
    }

    /// The columns that ``holder(_:)`` reads.
    static let holderColumns = "devices.id, author, account, device_id, created_at, event_id, registered_at"

    func holder(_ row: Row) throws -> RegisteredDevice {
        RegisteredDevice(
            device: DeviceID(rawValue: row["id"]),
            slot: RegistrationSlot(author: try key(row, "author"), deviceID: row["device_id"]),
            account: try key(row, "account"),
            mark: try mark(row),
            registeredAt: row["registered_at"]
        )
    }

    /// Stores a device in its slot. Returns its number and first registration, which an earlier device there passes on.
    func put(_ device: DeviceRow) throws -> (DeviceID, firstRegisteredAt: Timestamp) {
        let further = device.furtherSignals.isEmpty ? nil : device.furtherSignals.map(\.rawValue).joined(separator: " ")
        let root = device.account == device.slot.author ? nil : device.account
        let row = try one(
            """
            INSERT INTO devices
                (author, root, device_id, created_at, event_id, registered_at, route, mode, signals, further_signals,
                locale, has_sealing_key, router_key, first_registered_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?6)
            ON CONFLICT (author, device_id) DO UPDATE SET
                root = excluded.root, created_at = excluded.created_at, event_id = excluded.event_id,
                registered_at = excluded.registered_at, route = excluded.route, mode = excluded.mode, signals = excluded.signals,
                further_signals = excluded.further_signals, locale = excluded.locale,
                has_sealing_key = excluded.has_sealing_key, router_key = excluded.router_key
            RETURNING id, first_registered_at
            """,
            [
                device.slot.author.bytes.data, root?.bytes.data, device.slot.deviceID, device.mark.createdAt,
                device.mark.id.bytes.data,
                device.registeredAt, Int64(device.route.rawValue), device.mode?.rawValue,
                Int64(bitPattern: device.signals.rawValue), further, device.locale?.description, device.hasSealingKey,
                device.routerKey,
            ]
        )
        guard let row else { throw DatabaseError(resultCode: .SQLITE_INTERNAL) }
        // The app registered again, so pushes may reach the device.
        try enable(DeviceID(rawValue: row["id"]))
        try execute(
            "DELETE FROM tombstones WHERE author = ? AND device_id = ?",
            [device.slot.author.bytes.data, device.slot.deviceID]
        )
        return (DeviceID(rawValue: row[0]), row[1])
    }

    /// Replaces the sealed preferences of a device; nil if it has none.
    func putPreferences(of device: DeviceID, sealed: [UInt8]?) throws {
        try execute("UPDATE devices SET wishes = ? WHERE id = ?", [sealed.map { Data($0) }, device.rawValue])
    }

    /// Empty if the device has no preferences; nil if there is no such device.
    func sealedPreferences(of device: DeviceID) throws -> [UInt8]? {
        try one("SELECT wishes FROM devices WHERE id = ?", [device.rawValue]).map { row in
            (row[0] as Data?).map { Array($0) } ?? []
        }
    }

    func putTraits(of device: DeviceID, _ locale: LanguageTag?, hasSealingKey: Bool) throws {
        try execute(
            "UPDATE devices SET locale = ?, has_sealing_key = ? WHERE id = ?",
            [locale?.description, hasSealingKey, device.rawValue]
        )
    }

    func putSecrets(of device: DeviceID, handle: [UInt8], address: [UInt8], content: [UInt8]) throws {
        try execute(
            "INSERT OR REPLACE INTO secrets (device, handle, address, content) VALUES (?, ?, ?, ?)",
            [device.rawValue, Data(handle), Data(address), Data(content)]
        )
    }

    /// The author of a device's registration, and the number of the router's key that it names.
    func parties(to device: DeviceID) throws -> (author: PublicKey, routerKey: Int)? {
        try one("SELECT author, router_key FROM devices WHERE id = ?", [device.rawValue]).map {
            (try key($0, "author"), $0["router_key"])
        }
    }

    func sealedAddress(of device: DeviceID) throws -> SealedAddress? {
        try one(
            """
            SELECT address, \(Self.isProven), author, account, locale, mode
            FROM secrets JOIN devices ON devices.id = secrets.device WHERE secrets.device = ?1
            """,
            [device.rawValue]
        ).map { row in
            SealedAddress(
                bytes: Array(row[0] as Data),
                isProven: row[1],
                owners: (PublicKey(try bytes(row, at: 2)), PublicKey(try bytes(row, at: 3))),
                locale: row[4],
                mode: (row[5] as Int32?).flatMap(Mode.init(rawValue:))
            )
        }
    }

    func locale(of device: DeviceID) throws -> String? {
        try one("SELECT locale FROM devices WHERE id = ?", [device.rawValue])?[0]
    }

    func sealedContent(of device: DeviceID) throws -> [UInt8]? {
        try one("SELECT content FROM secrets WHERE device = ?", [device.rawValue]).map { Array($0[0] as Data) }
    }

    /// Returns the number of a route, and assigns one to a new route.
    func number(of route: Route) throws -> RouteID {
        try execute("INSERT OR IGNORE INTO routes (platform, app) VALUES (?, ?)", [route.platform, route.app])
        let row = try one("SELECT id FROM routes WHERE platform = ? AND app = ?", [route.platform, route.app])
        guard let number: Int64 = row?[0], let id = UInt16(exactly: number) else {
            throw RegistryStoreError.tooManyRoutes
        }
        return RouteID(rawValue: id)
    }

    func routes() throws -> [RouteID: Route] {
        var routes: [RouteID: Route] = [:]
        for row in try all("SELECT id, platform, app FROM routes") {
            guard let id = UInt16(exactly: row[0] as Int64) else { throw RegistryStoreError.tooManyRoutes }
            routes[RouteID(rawValue: id)] = Route(platform: row[1], app: row[2])
        }
        return routes
    }

    // MARK: Whether a token is proven

    /// The condition for the device whose number is the first argument.
    static let isProven = "NOT EXISTS (SELECT 1 FROM unproven_devices WHERE device = ?1)"

    /// Whether a push service has accepted a push for the device's token.
    func isProven(_ device: DeviceID) throws -> Bool {
        try one("SELECT 1 FROM unproven_devices WHERE device = ?", [device.rawValue]) == nil
    }

    /// Records whether a push service accepted a device's token. Ignores devices that no longer exist.
    func setProven(_ device: DeviceID, _ isProven: Bool) throws {
        let change =
            isProven
            ? "DELETE FROM unproven_devices WHERE device = ?"
            : "INSERT OR IGNORE INTO unproven_devices (device) VALUES (?)"
        try execute(change, [device.rawValue])
    }

    func markProven(_ devices: [DeviceID]) throws {
        for device in devices {
            try setProven(device, true)
            try markReached(device)
        }
    }

    // MARK: Removal

    /// Empties a slot, and remembers that it is empty since `mark`. Keeps `event`, the deregistration, as long as that
    /// mark.
    func clear(
        _ slot: RegistrationSlot,
        leaving mark: SlotMark,
        keeping event: Event? = nil,
        _ changes: inout RegistryChanges
    ) throws {
        if let root = try stopWaiting(in: slot) { changes.keys.insert(root) }
        if let device = try device(in: slot) { try delete(device, &changes) }
        try deleteEvent(in: slot)
        if let event { try putEvent(event, in: slot) }
        try addTombstone(slot, mark)
    }

    /// Removes a device without its owner's request. The event that registered it will not bring it back.
    func evict(_ device: RegisteredDevice, _ changes: inout RegistryChanges) throws {
        try deleteEvent(in: device.slot)
        try delete(device, &changes)
        try addTombstone(device.slot, device.mark)
    }

    /// Removes a device when its root identity no longer lists the key that registered it. The registration waits until
    /// it is listed again.
    func revoke(
        _ device: RegisteredDevice,
        limits: RegistrationPolicy.Limits,
        _ changes: inout RegistryChanges
    ) throws {
        let json = try event(in: device.slot)
        try deleteEvent(in: device.slot)
        try delete(device, &changes)
        if let json, try mark(waitingIn: device.slot) == nil {
            changes.keys.formUnion(
                try wait(
                    device.slot,
                    root: device.account,
                    device.mark,
                    json: json,
                    arrivedAt: device.registeredAt,
                    limits: limits
                )
            )
        }
    }

    /// Takes a device out of its slot.
    func delete(_ device: RegisteredDevice, _ changes: inout RegistryChanges) throws {
        changes.keys.formUnion(try partners(of: device.device))
        changes.keys.insert(device.account)
        changes.index.append(.remove(device.device, of: device.account))
        try execute("DELETE FROM devices WHERE id = ?", [device.device.rawValue])
        // Contact lists are not read while the account is away.
        let account = device.account.bytes.data
        try execute(
            "DELETE FROM follows_read WHERE account = ?1 AND NOT EXISTS (SELECT 1 FROM devices WHERE account = ?1)",
            [account]
        )
        try execute(
            "DELETE FROM followed WHERE account = ?1 AND NOT EXISTS (SELECT 1 FROM devices WHERE account = ?1)",
            [account]
        )
        try execute(
            "DELETE FROM recipient_lists WHERE account = ?1 AND NOT EXISTS (SELECT 1 FROM devices WHERE account = ?1)",
            [account]
        )
    }
}
