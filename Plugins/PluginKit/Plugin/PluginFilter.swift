public import CarillonABI
import Core

/// A filter: decides which events may send a notification.
///
/// A filter plugin only needs to conform to this protocol; ``PluginDescriptor`` provides the C ABI around it. Every
/// method may be called on any thread, concurrently, and must return promptly, because events wait for it.
///
/// The complete `decide` of a filter that passes only events with a zap:
///
/// ```swift
/// func decide(_ call: borrowing FilterCall) -> FilterDecision {
///     call.zapMillisats > 0 ? .pass : .drop(reason: "no zap")
/// }
/// ```
public protocol PluginFilter: AnyObject, Sendable {
    /// Its name in the configuration and in registrations, such as `mutes`; unique among a router's filters.
    static var name: StaticString { get }

    /// The recipient's replaceable events that it reads, such as 10000. Default: none.
    static var wantedKinds: [UInt32] { get }

    /// The maximum that an instance needs to know about the recipient's follows. Default: nothing.
    static var maxNeeded: FollowNeed { get }

    /// Whether it runs after rendering and may change the notification. Default: it runs before.
    static var isAskedAfterRendering: Bool { get }

    /// Reads the filter's settings. No network I/O; the files that they name may be read.
    ///
    /// Throws a ``PluginError`` that names the key and the expected value, never a secret.
    init(configuration: JSONObject, host: Host) throws(PluginError)

    /// The facts about follows that this instance needs. Default: ``maxNeeded``, which is also the maximum.
    var need: FollowNeed { get }

    /// Passes or drops an event. If it throws, the operator's setting `on_error` applies.
    func decide(_ call: borrowing FilterCall) throws(PluginError) -> FilterDecision
}

extension PluginFilter {
    public static var wantedKinds: [UInt32] { [] }
    public static var maxNeeded: FollowNeed { .nothing }
    public static var isAskedAfterRendering: Bool { false }
    public var need: FollowNeed { Self.maxNeeded }
}

/// A filter's decision about an event.
public enum FilterDecision: Sendable, Hashable {
    case pass
    /// The event sends no notification. `reason` is for the router's log and trace: up to 60 printable ASCII
    /// characters, never content.
    case drop(reason: String)
}

/// The facts about the recipient's follows that a filter needs; the router determines them before the call.
public enum FollowNeed: Sendable {
    case nothing
    /// Whether the recipient follows the author.
    case followed
    /// Also whether an account that the recipient follows follows the author. The event may have to wait while the
    /// router queries relays.
    case distance

    var flags: UInt32 {
        switch self {
        case .nothing: 0
        case .followed: UInt32(CARILLON_FILTER_ASKS_FOLLOWED)
        case .distance: UInt32(CARILLON_FILTER_ASKS_DISTANCE)
        }
    }
}

/// The distance from the recipient to the author of an event in the follow graph.
public enum FollowDistance: Sendable {
    /// The router could not determine it.
    case unknown
    /// The recipient follows the author, or is the author.
    case followed
    /// An account that the recipient follows follows the author.
    case second
    case stranger
    /// The recipient does not follow the author. Whether an account that the recipient follows does is unknown.
    case notFollowed

    init(_ distance: carillon_follow_distance) {
        switch distance {
        case .CARILLON_DISTANCE_UNKNOWN: self = .unknown
        case .CARILLON_DISTANCE_FOLLOWED: self = .followed
        case .CARILLON_DISTANCE_SECOND: self = .second
        case .CARILLON_DISTANCE_STRANGER: self = .stranger
        case .CARILLON_DISTANCE_NOT_FOLLOWED: self = .notFollowed
        @unknown default: self = .unknown
        }
    }
}

/// One event for one recipient; borrowed for the duration of a call.
public struct FilterCall: ~Copyable {
    private let abi: carillon_filter_call

    package init(_ pointer: UnsafePointer<carillon_filter_call>) {
        abi = carillon_filter_call.adopt(pointer)
    }

    /// The verified event, as JSON.
    public var event: BorrowedText { BorrowedText(abi.event) }
    /// The account, 64 hex digits.
    public var recipient: BorrowedText { BorrowedText(abi.recipient) }
    /// `dm`, `mention`, …
    public var signal: BorrowedText { BorrowedText(abi.signal) }
    /// The event's relation to the recipient, as in rules; empty if rules have no name for it.
    public var relation: BorrowedText { BorrowedText(abi.relation) }
    /// The account that acted, 64 hex digits, such as the sender of a zap; empty if unknown, as for a gift wrap.
    public var author: BorrowedText { BorrowedText(abi.author) }
    /// The zap's amount; 0: not a zap, or unknown.
    public var zapMillisats: UInt64 { abi.zap_millisats }
    /// The router's clock.
    public var now: Timestamp { Timestamp(milliseconds: Int64(clamping: abi.now_unix_ms)) }
    /// The distance to the author, as far as the filter's ``PluginFilter/need`` requests it.
    public var followDistance: FollowDistance { FollowDistance(abi.follow_distance) }

    /// The number of available newest events of the recipient: up to one for each of the filter's wanted kinds.
    public var recipientEventCount: Int { abi.recipient_events == nil ? 0 : abi.recipient_event_count }

    /// Returns one of them as JSON, from 0 to ``recipientEventCount`` - 1.
    public func recipientEvent(at index: Int) -> BorrowedText? {
        guard (0..<recipientEventCount).contains(index), let events = abi.recipient_events else { return nil }
        return BorrowedText(events[index])
    }

    /// Calls `body` with the rendered notification; nil unless the filter runs after rendering.
    public func withNotification<Result>(_ body: (borrowing Notification) -> Result) -> Result? {
        guard let notification = abi.notification else { return nil }
        return body(Notification(notification))
    }

    /// Changes the notification: `field` is `title`, `subtitle`, `body`, `category`, `thread`, `collapse_key`, `url`,
    /// `data` or `urgency`. Returns false if the router rejects it, as in modes that show no texts.
    @discardableResult
    public func set(_ field: StaticString, _ value: String) -> Bool {
        guard let set = abi.set else { return false }
        var value = value
        return value.withUTF8 { set(abi.edit, carillon_str(field), carillon_bytes(UnsafeRawBufferPointer($0))) }
            == .CARILLON_OK
    }
}

/// A Nostr event (NIP-01) for filters. A tag is truncated at its first element that is not a string. Example:
/// `let mentioned = try NostrEvent(parsing: call.event).values(of: "p")`.
public struct NostrEvent: Sendable {
    /// 64 hex digits.
    public let id: String
    /// 64 hex digits.
    public let pubkey: String
    /// The `kind` of NIP-01, 0 to 65,535 in events that the router accepts.
    public let kind: Int64
    /// The content as signed; encrypted content stays encrypted.
    public let content: String
    /// The strings of each tag, the name first; no tag is empty.
    public let tags: [[String]]

    /// Throws if `text` is not a JSON object. Missing members are empty.
    public init(parsing text: BorrowedText) throws(JSONError) {
        try self.init(JSONObject(parsing: text.bytes))
    }

    /// Parses an event inside another, such as a zap's request.
    public init(parsing text: String) throws(JSONError) {
        try self.init(JSONObject(parsing: text))
    }

    private init(_ object: JSONObject) {
        id = object["id"]?.string ?? ""
        pubkey = object["pubkey"]?.string ?? ""
        kind = object["kind"]?.integer ?? -1
        content = object["content"]?.string ?? ""
        tags = (object["tags"]?.elements ?? []).compactMap { tag in
            let texts = (tag.elements ?? []).map(\.string).prefix { $0 != nil }.compactMap(\.self)
            return texts.isEmpty ? nil : texts
        }
    }

    /// Returns the second string of each tag of that name, in order.
    public func values(of name: String) -> [String] {
        tags.compactMap { $0.count > 1 && $0[0] == name ? $0[1] : nil }
    }
}

/// One filter of a plugin: its type and the C function that creates it.
public struct FilterEntry {
    /// The type of the ABI's `create`.
    public typealias Create = TransportEntry.Create

    private let name: StaticString
    private let wantedKinds: [UInt32]
    private let flags: UInt32
    private let create: Create

    /// Makes an entry. `create` is a closure that calls ``make(_:_:_:_:_:)`` with the filter's type. A C function
    /// cannot be generic, so the plugin has to name the type in the closure:
    /// `FilterEntry(MyFilter.self) { FilterEntry.make(MyFilter.self, $0, $1, $2, $3) }`.
    public init<Filter: PluginFilter>(_ type: Filter.Type, create: @escaping Create) {
        name = type.name
        wantedKinds = type.wantedKinds
        flags = type.maxNeeded.flags | (type.isAskedAfterRendering ? UInt32(CARILLON_FILTER_RENDERED) : 0)
        self.create = create
    }

    /// Implements an ABI `create`: reads the settings, makes the filter and returns its pointer.
    public static func make<Filter: PluginFilter>(
        _ type: Filter.Type,
        _ host: UnsafePointer<carillon_host>?,
        _ configuration: carillon_str,
        _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        _ error: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        guard let pointer = host, let instance else { return .CARILLON_INVALID }
        do throws(PluginError) {
            let host = try Host(pointer)
            let filter = try type.init(configuration: TransportEntry.parsed(configuration), host: host)
            instance.pointee = FilterBox(filter, host: host).retainedPointer()
            return .CARILLON_OK
        } catch let mistake {
            TimerCallbacks.removeAll(of: pointer)
            mistake.write(to: error)
            return .CARILLON_INVALID
        }
    }

    /// Returns a table that lives until the process ends.
    func table() -> UnsafePointer<carillon_filter> {
        let kinds = UnsafeMutablePointer<UInt32>.allocate(capacity: max(1, wantedKinds.count))
        kinds.initialize(from: wantedKinds, count: wantedKinds.count)
        let filter = UnsafeMutablePointer<carillon_filter>.allocate(capacity: 1)
        filter.initialize(
            to: carillon_filter(
                struct_size: UInt32(MemoryLayout<carillon_filter>.size),
                flags: flags,
                name: carillon_str(name),
                wanted_kinds: UnsafePointer(kinds),
                wanted_kind_count: wantedKinds.count,
                create: create,
                destroy: destroyFilter,
                decide: askFilter,
                needs: needsOfFilter
            )
        )
        return UnsafePointer(filter)
    }
}

// Functions, not closures: a closure passed to a C struct's initializer inherits its context's isolation.

private func destroyFilter(_ instance: UnsafeMutableRawPointer?) {
    guard let instance else { return }
    FilterBox.release(instance)
}

private func askFilter(
    _ instance: UnsafeMutableRawPointer?,
    _ call: UnsafePointer<carillon_filter_call>?,
    _ decision: UnsafeMutablePointer<carillon_verdict>?
) -> carillon_status {
    guard let instance, let call, let decision else { return .CARILLON_INVALID }
    return FilterBox.at(instance).decide(call, decision)
}

private func needsOfFilter(_ instance: UnsafeMutableRawPointer?) -> UInt32 {
    guard let instance else { return 0 }
    return FilterBox.at(instance).instance.need.flags
}

package typealias FilterBox = InstanceBox<any PluginFilter>

extension FilterBox {
    /// Implements the ABI's `decide`.
    package func decide(
        _ pointer: UnsafePointer<carillon_filter_call>,
        _ decision: UnsafeMutablePointer<carillon_verdict>
    ) -> carillon_status {
        let call = FilterCall(pointer)
        do throws(PluginError) {
            switch try instance.decide(call) {
            case .pass: decision.pointee = .CARILLON_PASS
            case .drop(let reason):
                decision.pointee = .CARILLON_DROP
                call.set("reason", reason)
            }
            return .CARILLON_OK
        } catch {
            host.log(.debug, "cannot decide: \(error)")
            return .CARILLON_FAILED
        }
    }
}
