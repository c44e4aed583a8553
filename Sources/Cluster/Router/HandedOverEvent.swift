import Core
import Nostr
import Operations
import Pipeline
import Synchronization

/// An event for the owner of a partition. Its encoding: the source (1 byte), the sender's registry position (8 bytes,
/// big-endian), the keys that the client authenticated (1 byte for their number, 32 for each), and the JSON. A
/// requested notification has its request before the JSON, after its length (4 bytes, big-endian).
struct HandedOverEvent {
    /// The event's source, if the owner's stages distinguish it.
    struct Origin: Hashable {
        fileprivate enum Door: UInt8 {
            case live, stored, baseline, socket, feed, request
        }

        fileprivate let door: Door
        fileprivate let authenticated: Set<PublicKey>
        fileprivate let request: [UInt8]

        fileprivate init(_ source: EventSource) {
            var (keys, request): (Set<PublicKey>, [UInt8]) = ([], [])
            switch source {
            case .relay(.live): door = .live
            case .relay(.stored): door = .stored
            case .relay(.baseline), .relay(.fetched): door = .baseline
            case .feed: door = .feed
            case .api(let order):
                door = .request
                request = order.request
            case .socket(let authenticated, _):
                door = .socket
                keys = Set(authenticated.sorted { $0.hex < $1.hex }.prefix(Int(UInt8.max)))
            }
            (authenticated, self.request) = (keys, request)
        }

        fileprivate init(_ door: Door, _ authenticated: Set<PublicKey>, _ request: [UInt8]) {
            (self.door, self.authenticated, self.request) = (door, authenticated, request)
        }

        var isRequest: Bool { door == .request }

        /// Restores the event's source; nil: the request cannot be decoded.
        func source(_ order: ([UInt8]) -> NotificationOrder?) -> EventSource? {
            switch door {
            case .request: order(request).map { .api($0) }
            case .live: .relay(.live)
            case .stored: .relay(.stored)
            case .baseline: .relay(.baseline)
            case .socket: .socket(authenticated: authenticated)
            case .feed: .feed
            }
        }
    }

    let origin: Origin
    let registry: UInt64
    let json: [UInt8]

    init(from source: EventSource, registry: UInt64, json: [UInt8]) {
        (origin, self.registry, self.json) = (Origin(source), registry, json)
    }

    var bytes: [UInt8] {
        var bytes = [origin.door.rawValue]
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: registry >> UInt64(56 - 8 * $0)) }
        bytes.append(UInt8(origin.authenticated.count))
        for key in origin.authenticated { bytes += key.bytes.array }
        if origin.door == .request {
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: origin.request.count >> (24 - 8 * $0)) }
            bytes += origin.request
        }
        return bytes + json
    }

    /// Decodes untrusted bytes; nil if they are not valid.
    init?(_ bytes: [UInt8]) {
        guard bytes.count > 10, let door = Origin.Door(rawValue: bytes[0]) else { return nil }
        registry = bytes[1..<9].reduce(0) { $0 << 8 | UInt64($1) }
        let start = 10 + 32 * Int(bytes[9])
        guard start < bytes.count else { return nil }
        let keys = stride(from: 10, to: start, by: 32).compactMap { PublicKey(bytes: bytes[$0..<$0 + 32]) }
        var (rest, request): (ArraySlice<UInt8>, [UInt8]) = (bytes[start...], [])
        if door == .request {
            guard rest.count > 4 else { return nil }
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            guard length < rest.count else { return nil }
            request = Array(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        origin = Origin(door, Set(keys), request)
        json = Array(rest)
    }
}

/// Waits for several results, and calls `ended` once with all notes, or with nil if any of them failed.
final class HandOverJoin: Sendable {
    private let state: Mutex<(open: Int, notes: HandOverNotes?)>
    private let ended: @Sendable (HandOverNotes?) -> Void

    init(_ count: Int, ended: @escaping @Sendable (HandOverNotes?) -> Void) {
        state = Mutex((count, [:]))
        self.ended = ended
        if count == 0 { ended([:]) }
    }

    /// Adds a result; nil: it failed.
    func end(_ notes: HandOverNotes?) {
        let (isLast, all) = state.withLock { state in
            state.open -= 1
            state.notes = notes.flatMap { notes in state.notes?.merging(notes) { first, _ in first } }
            return (state.open == 0, state.notes)
        }
        if isLast { ended(all) }
    }
}

extension NotificationOrder.Counts {
    /// The encoding of the counts in an owner's note: decimal numbers separated by spaces.
    var bytes: [UInt8] {
        let numbers = [devices, queued, held].map(String.init) + (heldUntil.map { ["\($0.milliseconds)"] } ?? [])
        return Array(numbers.joined(separator: " ").utf8)
    }

    /// Decodes untrusted bytes; nil if they are not valid.
    init?(bytes: [UInt8]) {
        let numbers = String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { Int64($0) }
        guard (3...4).contains(numbers.count) else { return nil }
        self.init()
        (devices, queued, held) = (Int(numbers[0]), Int(numbers[1]), Int(numbers[2]))
        heldUntil = numbers.count == 4 ? Timestamp(milliseconds: numbers[3]) : nil
    }
}
