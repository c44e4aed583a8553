import Cipher
import Console
import Core
import Delivery
import Dispatch
import NIOCore
import Nostr
import Pipeline
import Push
import Registry
import RouterConfiguration
import Rules
import Synchronization

/// Sends the notifications that callers request. The router signs one or more events for each. They pass
/// the whole pipeline, so throttling, filters, encryption and tracing apply.
///
/// A request is stored before its events are made, and their ids depend only on the request. A request that is repeated
/// after a crash makes the same events, so no device is notified twice.
package final class Notifier: Sendable {
    /// The caller of a request, and its idempotency key.
    struct Origin: Sendable {
        let sender: String
        let key: String?
    }

    /// The response to the caller.
    enum Answer: Sendable {
        case sent(NotifyReceipt)
        case tried(NotifyTrial)
    }

    /// The recipients of a request.
    private struct Audience: Sendable {
        var accounts: [PublicKey] = []
        /// Requested devices that are not registered.
        var unknown: [DeviceID] = []
        /// The number of registered devices; `nil` if not counted.
        var devices: Int?
    }

    /// The number of accounts in one event. The pipeline takes a few such events at a time, then other events.
    private static let accountsPerEvent = 100
    private let queue: RequestQueue
    private let registry: Registry
    private let identity: KeyPair
    /// `nil` without a cluster.
    private let shared: (any SharedRequests)?
    /// Whether the events leave this router.
    private let mustSign: @Sendable () -> Bool
    private let now: @Sendable () -> Timestamp
    /// Whether a request for all users of an app is scanning the devices.
    private let isScanning = Mutex(false)

    /// `shared` holds the requests of all members; `nil` without a cluster. `mustSign` returns whether the events leave
    /// this router. Signing takes a twentieth of a notification's time.
    package init(
        _ queue: RequestQueue,
        registry: Registry,
        identity: KeyPair,
        shared: (any SharedRequests)? = nil,
        mustSign: @escaping @Sendable () -> Bool,
        now: @escaping @Sendable () -> Timestamp
    ) {
        (self.queue, self.registry, self.identity) = (queue, registry, identity)
        (self.shared, self.mustSign, self.now) = (shared, mustSign, now)
    }

    /// Sends a request, and returns when its results are on disk, or counted for a dry run. `read` parses the body,
    /// unless the request was answered before. Throws an ``APIError``.
    func send(
        _ body: [UInt8],
        from origin: Origin,
        read: @Sendable () throws -> NotifyRequest
    ) async throws -> Answer {
        let digest = SHA256.hash(body)
        let sender = SHA256.hash(Array(origin.sender.utf8))
        let key = origin.key.map { SHA256.hash(Array($0.utf8)) }
        if let key, let known = try await DiskWork.run({ [queue] in try queue.known(of: sender, key: key) }),
            !known.events.isEmpty, known.createdAt > now() - RequestStore.lifetime
        {
            return .sent(try Self.receipt(known, for: digest))
        }
        let request = try read()
        let audience = try await audience(of: request)
        let accounts = audience.accounts
        if request.isDryRun { return .tried(try await trial(of: request, audience)) }
        let fresh = RequestRecord(
            id: SecureRandom.bytes(16),
            sender: sender,
            key: key,
            body: digest,
            createdAt: now()
        )
        // The first member that receives the request determines its events.
        let known = try await shared?.remember(fresh) ?? fresh
        // Made here because the queue's thread holds the outbox's connection, which events also need.
        let made = known.events.isEmpty ? try events(of: known, request, accounts) : []
        let record = try await queue.take(
            RequestQueue.Request(
                record: known,
                body: digest,
                order: request.order,
                events: { [self] in $0.id == known.id ? made : try events(of: $0, request, accounts) },
                unknown: audience.unknown
            )
        )
        if known.events.isEmpty { await shared?.note(record) }
        return .sent(try Self.receipt(record, for: digest))
    }

    /// Returns the stored request of a sender. Throws an ``APIError`` if there is none.
    func record(_ id: String, of sender: String) async throws -> RequestRecord {
        guard let bytes = Hex.decode(id), bytes.count == 16, let record = try await find(bytes),
            record.sender == SHA256.hash(Array(sender.utf8))
        else { throw APIError(404, "no such notification of this sender in the last day") }
        return record
    }

    /// Returns the ids of the events sent for a request. Throws an ``OperationError`` if there are none.
    func events(of id: String) async throws -> [String] {
        guard let bytes = Hex.decode(id), let record = try await find(bytes), !record.events.isEmpty else {
            throw EventOperations.unknownRequest
        }
        return record.events.map { Hex.encode($0) }
    }

    /// Finds a request here or, if another member took it, among the shared ones.
    private func find(_ id: [UInt8]) async throws -> RequestRecord? {
        if let record = try await DiskWork.run({ [queue] in try queue.find(id) }),
            !record.events.isEmpty || shared == nil
        {
            return record
        }
        return try await shared?.find(id)
    }

    private static func receipt(_ record: RequestRecord, for body: [UInt8]) throws(APIError) -> NotifyReceipt {
        guard record.body == body else { throw RequestQueue.otherBody }
        return NotifyReceipt(record)
    }

    // MARK: Recipients

    private func audience(of request: NotifyRequest) async throws -> Audience {
        switch request.recipients {
        case .accounts(let keys): return Audience(accounts: Array(Set(keys)).sorted { $0.hex < $1.hex })
        case .devices(let devices):
            return try await DiskWork.run { [registry] in
                var accounts: Set<PublicKey> = []
                var unknown: [DeviceID] = []
                for device in devices {
                    if let listing = try registry.listing(of: device) {
                        accounts.insert(listing.account)
                    } else {
                        unknown.append(device)
                    }
                }
                guard !accounts.isEmpty else {
                    let detail = "none of these devices is registered"
                    throw APIError(
                        422,
                        "#/to: \(detail)",
                        mistakes: [APIError.FieldError(pointer: "#/to", detail: detail)]
                    )
                }
                return Audience(accounts: accounts.sorted { $0.hex < $1.hex }, unknown: unknown)
            }
        case .group(let name):
            return try await DiskWork.run { [registry] in Audience(accounts: try registry.members(of: name)) }
        case .app(let app, let signal):
            guard
                isScanning.withLock({ isScanning in
                    defer { isScanning = true }
                    return !isScanning
                })
            else { throw APIError(503, "a request for all users of an app is in progress", retryAfter: 2) }
            defer { isScanning.withLock { $0 = false } }
            return try await DiskWork.run { [registry] in
                try Self.users(of: app, wanting: signal, request.order, in: registry)
            }
        }
    }

    private static func users(
        of app: String,
        wanting signal: Signal?,
        _ order: NotificationOrder,
        in registry: Registry
    ) throws -> Audience {
        var accounts: Set<PublicKey> = []
        var devices = 0
        var last: DeviceID?
        while true {
            let page = try registry.devices(after: last)
            guard let end = page.last else { break }
            last = end.device
            for device in page where device.route.app == app && signal.map(device.signals.contains) ?? true {
                accounts.insert(device.account)
                if order.includes(device) { devices += 1 }
            }
        }
        return Audience(accounts: accounts.sorted { $0.hex < $1.hex }, devices: devices)
    }

    /// Counts the recipients of a request without sending anything.
    private func trial(of request: NotifyRequest, _ audience: Audience) async throws -> NotifyTrial {
        let devices: Int
        if let counted = audience.devices {
            devices = counted
        } else {
            devices = try await DiskWork.run { [registry] in
                try audience.accounts.reduce(0) { count, account in
                    try count + registry.devices(of: account).count { request.order.includes($0) }
                }
            }
        }
        return NotifyTrial(accounts: audience.accounts.count, devices: devices, audience.unknown)
    }

    // MARK: Events

    /// Returns at least one event, so that the request can be marked as done.
    private func events(
        of record: RequestRecord,
        _ request: NotifyRequest,
        _ accounts: [PublicKey]
    ) throws -> [Event] {
        let id = Hex.encode(record.id)
        let parts = stride(from: 0, to: max(1, accounts.count), by: Self.accountsPerEvent)
        let isSigned = shared != nil || mustSign()
        return try parts.enumerated().map { number, start in
            let keys = accounts.dropFirst(start).prefix(Self.accountsPerEvent)
            var event = Event.unsigned(
                kind: .requestedNotification,
                createdAt: record.createdAt.seconds,
                tags: keys.map { ["p", $0.hex] } + [["request", id, "\(number)"]] + request.tags,
                by: identity.publicKey
            )
            if isSigned { event.signature = try identity.sign(event.id) }
            return event
        }
    }

}

extension NotificationOrder {
    fileprivate func includes(_ device: DeviceListing) -> Bool {
        includes(device.device, platform: device.route.platform, app: device.route.app)
    }
}

extension Notifier {
    /// Returns the order of a request that another member took; `nil` if it is invalid under these rules.
    package static func order(of request: [UInt8], _ book: RuleBook, _ platforms: KnownPlatforms) -> NotificationOrder?
    {
        let terms = NotifyRequest.Terms(book: book, platforms: platforms)
        return try? NotifyRequest(ByteBuffer(bytes: request), terms).order
    }
}

/// Notification requests that all cluster members share. Errors are ``APIError``s.
package protocol SharedRequests: Sendable {
    /// Stores a request. Returns it, or an earlier one of the same sender and key.
    func remember(_ record: RequestRecord) async throws -> RequestRecord

    /// Stores that a request's events were written. If a crash loses this, the events are made again with the same ids.
    func note(_ record: RequestRecord) async

    /// Returns a request whose events were written.
    func find(_ id: [UInt8]) async throws -> RequestRecord?
}
