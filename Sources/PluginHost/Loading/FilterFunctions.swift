import CarillonABI
import Notifications
import PluginIsolation
import PluginProtocol

/// A filter's functions with everything required present: those of a library in this process, which is never unloaded,
/// or ones that ask a process of its own.
package struct FilterFunctions: Sendable {
    package typealias Create = TransportFunctions.Create
    package typealias Destroy = TransportFunctions.Destroy
    package typealias Decide =
        @Sendable (
            UnsafeMutableRawPointer?, UnsafePointer<carillon_filter_call>?, UnsafeMutablePointer<carillon_verdict>?
        ) -> carillon_status
    package typealias Decisions = @Sendable (UnsafeMutableRawPointer?) -> DecisionBatch?
    package typealias Needs = @Sendable (UnsafeMutableRawPointer?) -> UInt32

    static let kindLimit = 16
    /// All flags that there are.
    package static let flags = UInt32(
        CARILLON_FILTER_RENDERED | CARILLON_FILTER_ASKS_DISTANCE | CARILLON_FILTER_ASKS_FOLLOWED
    )

    package let name: String
    package let wantedKinds: [UInt16]
    /// The most that an instance may need to know about the recipient's follows.
    package let mostNeeded: FollowNeed
    package let isAskedAfterRendering: Bool
    package internal(set) var create: Create
    package internal(set) var destroy: Destroy
    package internal(set) var decide: Decide
    package internal(set) var needs: Needs?
    /// Begins questions that are asked together; nil: each is asked by itself.
    package internal(set) var decisions: Decisions?

    init(reading pointer: UnsafePointer<carillon_filter>) throws(PluginRefusal.Reason) {
        guard let filter = carillon_filter(adopting: pointer) else {
            throw .badDescriptor("struct_size of a carillon_filter is implausible")
        }
        guard let name = PluginText.word(filter.name) else {
            throw .badDescriptor("a filter's name must be 1 to 64 of a-z, 0-9, \"-\" and \"_\"")
        }
        let owner = "filter \(name)"
        guard let create = filter.create else { throw .missingFunction("create", of: owner) }
        guard let destroy = filter.destroy else { throw .missingFunction("destroy", of: owner) }
        guard let decide = filter.decide else { throw .missingFunction("decide", of: owner) }
        self.name = name
        wantedKinds = try Self.kinds(filter, of: owner)
        mostNeeded = Self.need(filter.flags)
        isAskedAfterRendering = filter.flags & UInt32(CARILLON_FILTER_RENDERED) != 0
        let required = LibraryFunctions((create: create, destroy: destroy, decide: decide))
        self.create = { required.table.create($0, $1, $2, $3) }
        self.destroy = { required.table.destroy($0) }
        self.decide = { required.table.decide($0, $1, $2) }
        needs = filter.needs.map(LibraryFunctions.init).map { library in { library.table($0) } }
    }

    package static func need(_ flags: UInt32) -> FollowNeed {
        if flags & UInt32(CARILLON_FILTER_ASKS_DISTANCE) != 0 { return .distance }
        return flags & UInt32(CARILLON_FILTER_ASKS_FOLLOWED) != 0 ? .followed : .nothing
    }

    private static func kinds(_ filter: carillon_filter, of owner: String) throws(PluginRefusal.Reason) -> [UInt16] {
        let count = filter.wanted_kind_count
        guard count != 0 else { return [] }
        guard (1...kindLimit).contains(count), let kinds = filter.wanted_kinds else {
            throw .badDescriptor("\(owner) wants more than \(kindLimit) kinds, or wanted_kinds is NULL")
        }
        let wanted = UnsafeBufferPointer(start: kinds, count: count)
        guard let strange = wanted.first(where: { !isReplaceable($0) }) else {
            return Set(wanted.map { UInt16(clamping: $0) }).sorted()
        }
        throw .badDescriptor(
            "\(owner) wants kind \(strange), which is not replaceable: expected 0, 3 or 10000 to 19999"
        )
    }

    /// Of which an author has one (NIP-01).
    private static func isReplaceable(_ kind: UInt32) -> Bool {
        kind == 0 || kind == 3 || (10_000..<20_000).contains(kind)
    }
}
