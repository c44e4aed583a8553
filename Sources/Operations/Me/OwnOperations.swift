import Cipher
import Console
import Core
import JSON
import Nostr
import Observability
import Pipeline
import Push
import Registry
import RouterConfiguration

/// The API operations of an account on its own data. They reveal no data of other accounts. Reads files.
package struct OwnOperations: Sendable {
    /// The number of events in one response.
    static let events = 20

    private let devices: DeviceOperations
    private let events: EventOperations
    private let registry: Registry
    private let reader: TraceReader?
    private let status: StatusReader
    private let limits: RegistrationPolicy.Limits
    private let handles: DeviceHandles
    private let configuration: @Sendable () -> Configuration
    /// When sending to a device's push server resumes; `nil` if it is not paused.
    private let pausedUntil: @Sendable (DeviceID, DeviceAddress) -> Timestamp?

    /// Throws if no handles can be derived from the registry's keys.
    package init(
        devices: DeviceOperations,
        events: EventOperations,
        status: StatusReader,
        configuration: @escaping @Sendable () -> Configuration,
        pausedUntil: @escaping @Sendable (DeviceID, DeviceAddress) -> Timestamp?
    ) throws {
        (self.devices, self.events, self.status) = (devices, events, status)
        registry = devices.reader.registry
        reader = status.files.trace?.reader
        handles = try DeviceHandles(registry.keys.seeds)
        self.configuration = configuration
        self.pausedUntil = pausedUntil
        limits = configuration().relay.registrations
    }

    // MARK: Reports

    /// Returns the account's report. An unknown key gets a report of the same form. Throws an ``OperationError``.
    func report(of key: PublicKey) throws -> OwnReport {
        var list = try devices.list(account: key.hex)
        let isKnown = !list.devices.isEmpty || !list.waiting.isEmpty
        // Recent entries may not be in the trace file yet. Unknown keys cause no disk write.
        if isKnown, status.files.flushTrace() {
            list = try devices.list(account: key.hex)
        }
        let own = try list.devices.map { try device($0) }
        return OwnReport(
            account: key.hex,
            npub: NIP19.npub(key),
            isBlocked: registry.access.isBlocked(key),
            devices: own,
            waiting: list.waiting.map { waiting in
                OwnReport.Waiting(name: waiting.name, key: waiting.key, words: IdentityWords.waiting(waiting.key))
            },
            groups: isKnown ? try groups(of: key) : [],
            relays: isKnown ? try relays(of: key) : [],
            lists: isKnown ? try lists(of: key) : [],
            events: isKnown ? try events(of: key) : [],
            tracedSince: (try? reader?.beginning()).flatMap { $0 }.map(\.rfc3339),
            limits: OwnReport.Limits(
                devices: limits.devicesPerAccount,
                registrationsPerHour: limits.registrationsPerKeyPerHour
            )
        )
    }

    private func device(_ overview: DeviceOverview) throws -> OwnReport.Device {
        let id = DeviceID(rawValue: overview.device)
        let address = try registry.address(of: id)
        return OwnReport.Device(
            id: handles.handle(of: id),
            name: overview.name,
            platform: overview.platform,
            app: overview.app,
            mode: overview.mode ?? configuration().defaults.mode.name,
            isDefaultMode: overview.mode == nil,
            signals: overview.signals,
            registeredAt: overview.registeredAt,
            reason: Self.silence(overview)?.words,
            reasonMessage: Self.silence(overview)?.says,
            preferences: overview.wishes,
            lastSuccess: overview.lastSuccess,
            lastError: overview.lastError,
            pace: overview.pace,
            held: devices.reader.heldGroups(of: id).map { group, words in
                OwnReport.Held(
                    event: group.event.hex,
                    count: group.count,
                    until: group.turn.at.map(\.rfc3339),
                    words: words,
                    reason: group.turn.reason?.rawValue
                )
            },
            waiting: overview.waiting,
            pausedUntil: address.flatMap { pausedUntil(id, $0) }.map(\.rfc3339),
            queuePause: overview.queuePause,
            pauseMessage: overview.pauseMessage
        )
    }

    private static func silence(_ overview: DeviceOverview) -> Sentence? {
        if overview.isBlocked == true { return Sentence("blocked", "this router does not serve this key") }
        if overview.waitsForCode { return Sentence("needs-code", IdentityWords.waitsForCode) }
        if let suspension = overview.suspension {
            let values = ["since": overview.failingSince ?? ""]
            return Sentence("switched-off", values, "\(suspension); register it again to end that")
        }
        if overview.signals.isEmpty { return Sentence("wants-nothing", "the registration enables no signals") }
        return overview.countsUntil.map { until in
            let words = "it is notified only until \(until): \(IdentityWords.silentList)"
            return Sentence("counts-until", ["until": until], words)
        }
    }

    private func relays(of key: PublicKey) throws -> [OwnReport.Relay] {
        let watched = Set(try registry.relaysWatched(for: key))
        return try status.relays(containing: nil).relays.filter { watched.contains($0.url) }.map { relay in
            OwnReport.Relay(
                url: relay.url,
                state: relay.state,
                readUpTo: relay.readUpTo,
                nextTry: relay.nextTry,
                lastFailure: relay.lastFailure,
                lastMessages: relay.lastMessages
            )
        }
    }

    private func lists(of key: PublicKey) throws -> [OwnReport.List] {
        try [Kind.muteList, .contactList].compactMap { kind in
            guard let list = try registry.recipientList(kind, of: key), let event = try? Event(json: list.json) else {
                return nil
            }
            var entries: [String: Int] = [:]
            for name in ["p", "e", "t", "word"] {
                let count = event.values(of: name).count
                if count > 0 { entries[name] = count }
            }
            let createdAt = Timestamp(seconds: event.createdAt).rfc3339
            return OwnReport.List(kind: Int(kind.rawValue), createdAt: createdAt, entries: entries)
        }
    }

    /// Returns the account's latest events, or an empty list if the trace cannot be read.
    private func events(of key: PublicKey) throws -> [OwnReport.Event] {
        guard let recent = try? reader?.recentEvents(of: key, limit: Self.events) else { return [] }
        return try recent.compactMap { try event($0.hex, of: key) }
    }

    static let unknownEvent = OperationError.unknown(
        Sentence(
            "own-event-unknown",
            "no record of this event for you: the router never received it, it does not mention you, or it is older "
                + "than the trace"
        )
    )

    /// Returns the history of an event (64 hex digits, note1… or nevent1…). Returns `nil` if it has no decision for the
    /// account, so that it reveals no other account's data. Throws an ``OperationError``.
    func event(_ event: String, of key: PublicKey) throws -> OwnReport.Event? {
        let explanation = try events.explain(event, recipient: key.hex)
        guard let own = explanation.accounts.first(where: { $0.account == key.hex }) else { return nil }
        return OwnReport.Event(
            event: explanation.event,
            steps: (explanation.steps + own.steps).map(OwnReport.Step.init),
            devices: own.devices.map { device in
                OwnReport.Event.Device(
                    id: device.isRegistered ? handles.handle(of: DeviceID(rawValue: device.device)) : nil,
                    steps: device.steps.map(OwnReport.Step.init),
                    outcome: device.outcome,
                    result: device.result
                )
            },
            outcome: own.outcome
        )
    }

    // MARK: Changes

    /// Sends a push to one of the account's devices immediately. Throws an ``OperationError``, like all methods
    /// below.
    func test(_ handle: String, of key: PublicKey, mode: String?) async throws -> OwnTest {
        let device = try await DiskWork.run { try find(handle, of: key) }
        let answer = try await devices.test(device, mode: mode)
        return OwnTest(
            id: handle,
            mode: answer.mode,
            outcome: answer.outcome,
            status: answer.status,
            reason: answer.reason,
            delivery: answer.delivery,
            reductions: answer.reductions
        )
    }

    func change(_ handle: String, of key: PublicKey, by object: JSONObject) throws -> OwnChange {
        let number = try find(handle, of: key)
        do {
            guard try registry.change(DeviceID(rawValue: number), of: key, by: PreferenceChange(object)) else {
                throw Self.unknown
            }
        } catch let rejection as RegistrationError {
            throw OperationError.invalid(rejection.reason)
        }
        return OwnChange(device: try device(devices.show(number)))
    }

    func remove(_ handle: String, of key: PublicKey) throws -> OwnChange {
        _ = try devices.remove(find(handle, of: key))
        return OwnChange(device: nil)
    }

    /// Adds an account to a group at its own request.
    func enter(_ name: GroupName, _ key: PublicKey) throws -> OwnGroups {
        guard try registry.enter(name, key) else {
            throw OperationError.unknown(
                Sentence(
                    "group-closed",
                    ["limit": "\(Registry.maxGroups)"],
                    "there is no such group, you have no device of that app, or you are in \(Registry.maxGroups) groups"
                )
            )
        }
        return OwnGroups(groups: try groups(of: key))
    }

    /// Removes an account from a group at its own request.
    func leave(_ name: GroupName, _ key: PublicKey) throws -> OwnGroups {
        guard try registry.leave(name, key) else {
            throw OperationError.unknown(Sentence("no-group", "you are in no such group"))
        }
        return OwnGroups(groups: try groups(of: key))
    }

    private func groups(of key: PublicKey) throws -> [OwnReport.Group] {
        try registry.groups(of: key).map { group in
            OwnReport.Group(app: group.name.app, group: group.name.group, since: group.since.rfc3339)
        }
    }

    /// Finds the account's device by its handle. Another account's device fails with the same error as an unknown one.
    private func find(_ handle: String, of key: PublicKey) throws -> Int64 {
        let own = try devices.list(account: key.hex).devices
        guard let device = own.first(where: { handles.handle(of: DeviceID(rawValue: $0.device)) == handle }) else {
            throw Self.unknown
        }
        return device.device
    }

    private static let unknown = OperationError.unknown(Sentence("no-own-device", "you have no such device here"))
}

extension OwnReport.Step {
    fileprivate init(_ line: EventExplanation.Line) {
        at = line.at
        step = line.step
        words = line.words
        reason = line.reason
        status = line.status
        (platform, app) = (line.platform, line.app)
        (attempt, nextAt) = (line.attempt, line.nextAt)
    }
}

/// Derives the ids by which owners name their devices. Device numbers would reveal how many devices others register.
struct DeviceHandles: Sendable {
    private let key: [UInt8]

    init(_ seeds: KeySeeds) throws {
        key = try HKDFSHA256.expand(pseudoRandomKey: seeds[.deviceHandles], info: [], length: 32)
    }

    /// Returns 16 hexadecimal digits.
    func handle(of device: DeviceID) -> String {
        let number = withUnsafeBytes(of: device.rawValue.bigEndian, Array.init)
        return Hex.encode(HMACSHA256.authenticationCode(for: number, key: key).prefix(8))
    }
}
