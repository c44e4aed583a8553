import Core
import Foundation
import GRDB
import Nostr
import Push
import Synchronization
import Testing
import TimeTestSupport

@testable import Registry

/// A log that all members of a test share. It can fail, or confirm late.
private final class SharedLog: RegistryLog {
    struct Unavailable: Error {}

    private struct State {
        var records: [(position: UInt64, bytes: [UInt8]?)] = []
        var ids: [String] = []
        var failures = 0
        var keepsWhatFails = false
        /// Called before the next append is looked at.
        var beforeAppend: (@Sendable () throws -> Void)?
        var snapshot: (position: UInt64, file: Data)?
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.records.count } }

    /// The next append throws; with `keeping`, it is stored all the same.
    func fail(keeping: Bool) { state.withLock { ($0.failures, $0.keepsWhatFails) = (1, keeping) } }

    /// Runs `body` before the next append, as a faster member would.
    func interfere(_ body: @escaping @Sendable () throws -> Void) { state.withLock { $0.beforeAppend = body } }

    func append(_ record: [UInt8], id: String, after position: UInt64) throws -> UInt64? {
        let body = state.withLock { state in
            defer { state.beforeAppend = nil }
            return state.beforeAppend
        }
        try body?()
        return try state.withLock { state throws -> UInt64? in
            let last = state.records.last?.position ?? 0
            if state.failures > 0 {
                state.failures -= 1
                if state.keepsWhatFails, last == position { state.records.append((last + 1, record)) }
                throw Unavailable()
            }
            guard last == position else { return nil }
            state.records.append((last + 1, record))
            return last + 1
        }
    }

    /// Writes to the log as a client that is not a member: garbage, or a copy of an existing record.
    func intrude(repeating position: UInt64? = nil) {
        state.withLock { state in
            let last = state.records.last?.position ?? 0
            let bytes = position.flatMap { position in state.records.first { $0.position == position }?.bytes }
            state.records.append((last + 1, bytes))
        }
    }

    func records(after position: UInt64) throws -> [(position: UInt64, bytes: [UInt8]?)] {
        state.withLock { Array($0.records.filter { $0.position > position }.prefix(2)) }
    }

    func lastPosition() throws -> UInt64 { state.withLock { $0.records.last?.position ?? 0 } }

    /// As after a restore from an older backup.
    func forget(after position: UInt64) { state.withLock { $0.records.removeAll { $0.position > position } } }

    func snapshotPosition() throws -> UInt64? { state.withLock(\.snapshot?.position) }

    func readSnapshot(to file: String) throws -> Bool {
        guard let snapshot = state.withLock(\.snapshot) else { return false }
        try snapshot.file.write(to: URL(fileURLWithPath: file))
        return true
    }

    /// Replaces records by a snapshot. The last record that it covers stays, or all of them if `isKept`.
    func shorten(by registry: Registry, _ folder: TemporaryFolder, isKept: Bool = false) throws {
        let file = folder.file("snapshot")
        let position = try registry.store.writeShared(to: file)
        let data = try Data(contentsOf: URL(fileURLWithPath: file))
        state.withLock { state in
            state.snapshot = (position, data)
            if !isKept { state.records.removeAll { $0.position < position } }
        }
    }
}

/// Several registries that write one log are the same registry.
struct RegistryReplicaTests {
    private static func content(_ token: UInt8) -> String {
        let hex = String(token, radix: 16)
        return #"{"platform":"ios","token":"\#(String(repeating: hex.count == 1 ? "0" + hex : hex, count: 32))"}"#
    }

    private static func members(_ count: Int, _ log: SharedLog) throws -> [Bench] {
        try (0..<count).map { number in
            let bench = try Bench()
            try bench.registry.join(log, name: "member \(number)")
            return bench
        }
    }

    private static func devices(_ registry: Registry) throws -> [Int64: String] {
        try registry.store.read { rows in
            var found: [Int64: String] = [:]
            for row in try rows.all("SELECT id, author, device_id, registered_at FROM devices") {
                let (id, device, moment): (Int64, String, Int64) = (row[0], row[2], row[3])
                let author = try rows.key(row, "author").hex
                found[id] = "\(author) \(device) \(moment)"
            }
            return found
        }
    }

    @Test func allMembersHaveTheSameDevicesUnderTheSameNumbers() throws {
        let log = SharedLog()
        let members = try Self.members(3, log)
        // Each member registers without knowledge of the others.
        for number in 0..<12 {
            let bench = members[number % 3]
            let result = try bench.registry.apply(bench.event(of: UInt8(0x30 + number), Self.content(UInt8(number))))
            #expect(result == .registered(DeviceID(rawValue: Int64(number + 1))))
        }
        for bench in members { try bench.registry.catchUp() }
        let expected = try Self.devices(members[0].registry)
        #expect(expected.count == 12)
        for bench in members { #expect(try Self.devices(bench.registry) == expected) }
        // Every member can open sealed values.
        for bench in members {
            let address = try bench.registry.address(of: DeviceID(rawValue: 5))
            #expect(address?.token == String(repeating: "04", count: 32))
        }
    }

    /// A new member reads a snapshot and the later records, and assigns the same numbers as the others.
    @Test func newMemberStartsWithASnapshot() throws {
        let log = SharedLog()
        let members = try Self.members(2, log)
        for number in 0..<4 {
            _ = try members[number % 2].registry.apply(
                members[0].event(of: UInt8(0x30 + number), Self.content(UInt8(number)))
            )
        }
        // Its number must not be given away again.
        try members[0].registry.catchUp()
        try members[0].registry.remove(DeviceID(rawValue: 4))
        try log.shorten(by: members[0].registry, members[0].folder)
        _ = try members[1].registry.apply(members[1].event(of: 0x40, Self.content(9)))
        #expect(log.count == 2)
        let late = try Bench(prepare: { try $0.takeSnapshot(of: log) })
        try late.registry.join(log, name: "late")
        _ = try late.registry.apply(late.event(of: 0x41, Self.content(10)))
        try members[0].registry.catchUp()
        let expected = try Self.devices(members[0].registry)
        #expect(expected.keys.sorted() == [1, 2, 3, 5, 6])
        #expect(try Self.devices(late.registry) == expected)
        #expect(try late.registry.address(of: DeviceID(rawValue: 2))?.token == String(repeating: "01", count: 32))
    }

    /// A member that was away while the log was shortened starts over; one that runs reports an error.
    @Test func memberBehindAShortenedLogStartsAgain() throws {
        let log = SharedLog()
        let members = try Self.members(2, log)
        let (one, away) = (members[0], members[1])
        for number in 0..<3 {
            _ = try one.registry.apply(one.event(of: UInt8(0x30 + number), Self.content(UInt8(number))))
        }
        // Everything is still there.
        try away.registry.store.takeSnapshot(of: log)
        try away.registry.catchUp()
        for number in 3..<6 {
            _ = try one.registry.apply(one.event(of: UInt8(0x30 + number), Self.content(UInt8(number))))
        }
        try log.shorten(by: one.registry, one.folder)
        #expect(throws: RegistryStoreError.missingRecords(after: 3)) { try away.registry.catchUp() }
        try away.registry.store.takeSnapshot(of: log)
        #expect(try Self.devices(away.registry) == Self.devices(one.registry))
    }

    /// Servers restored from an older backup have fewer records than a member: its state would not match records that
    /// others write.
    @Test func memberAheadOfTheLogReportsIt() throws {
        let log = SharedLog()
        let members = try Self.members(2, log)
        let one = members[0]
        for number in 0..<4 {
            _ = try one.registry.apply(one.event(of: UInt8(0x30 + number), Self.content(UInt8(number))))
        }
        try one.registry.store.takeSnapshot(of: log)
        log.forget(after: 2)
        #expect(throws: RegistryStoreError.ahead(of: 4)) { try one.registry.store.takeSnapshot(of: log) }
        // A member that starts over takes the snapshot.
        let new = try Bench(prepare: { try $0.takeSnapshot(of: log) })
        #expect(try Self.devices(new.registry).isEmpty)
    }

    /// A foreign message in the log must not stop registrations.
    @Test func foreignMessageInTheLogIsSkipped() throws {
        let log = SharedLog()
        let members = try Self.members(2, log)
        let (one, other) = (members[0], members[1])
        _ = try one.registry.apply(one.event(of: 0x31, Self.content(1)))
        log.intrude()
        log.intrude(repeating: 1)
        _ = try one.registry.apply(one.event(of: 0x32, Self.content(2)))
        _ = try other.registry.apply(other.event(of: 0x33, Self.content(3)))
        log.intrude()
        for bench in members {
            try bench.registry.catchUp()
            #expect(bench.registry.sharedPosition == 6)
            #expect(try Self.devices(bench.registry).count == 3)
        }
        // The log has everything that the member lacks, so it needs no snapshot.
        log.intrude()
        _ = try one.registry.apply(one.event(of: 0x34, Self.content(4)))
        try log.shorten(by: one.registry, one.folder, isKept: true)
        try other.registry.store.takeSnapshot(of: log)
        #expect(try other.registry.store.position() == 6)
        try other.registry.catchUp()
        let late = try Bench(prepare: { try $0.takeSnapshot(of: log) })
        #expect(try Self.devices(late.registry) == Self.devices(one.registry))
        #expect(try Self.devices(other.registry).count == 4)
    }

    @Test func indexFollowsRegistrationsOfOtherMembers() throws {
        let log = SharedLog()
        let members = try Self.members(2, log)
        let (one, other) = (members[0], members[1])
        var index = try other.registry.load()
        let account = try one.account(0x31).publicKey
        let feed = IndexFeed(of: 3) { $0 != account }
        var narrow = try other.registry.load(from: feed)
        _ = try one.registry.apply(one.event(of: 0x31, Self.content(1)))
        _ = try one.registry.apply(one.event(of: 0x32, Self.content(2)))
        try other.registry.catchUp()
        other.registry.update(&index)
        other.registry.update(&narrow, from: feed)
        #expect(index.deviceCount == 2)
        #expect(narrow.deviceCount == 1)
        #expect(narrow.account(of: account) == nil)
        #expect(index.account(of: account) != nil)
        #expect(other.registry.sharedPosition == 2 && one.registry.sharedPosition == 2)
        // If a push service reports the device as gone to one member, it is removed on all.
        try other.registry.removeGone(DeviceID(rawValue: 1), registeredAt: .distantFuture)
        try one.registry.catchUp()
        #expect(try one.registry.address(of: DeviceID(rawValue: 1)) == nil)
        other.registry.update(&index)
        #expect(index.deviceCount == 1)
    }

    @Test func slowerMemberDecidesAgainAfterTheOthersWrite() throws {
        let log = SharedLog()
        let members = try Self.members(2, log)
        let (one, other) = (members[0], members[1])
        let newer = try other.event(of: 0x31, Self.content(2), at: 10)
        let registry = other.registry
        log.interfere { _ = try registry.apply(newer) }
        // It was new when it was looked at first, and is outdated by the time it is written.
        let result = try one.registry.apply(one.event(of: 0x31, Self.content(1), at: 5))
        #expect(result == .outdated)
        #expect(try Self.devices(one.registry) == Self.devices(other.registry))
        #expect(log.count == 1)
    }

    @Test(arguments: [false, true])
    func unconfirmedWriteIsRefusedAndAdoptedIfItWasStored(_ isKept: Bool) throws {
        let log = SharedLog()
        let members = try Self.members(2, log)
        let (one, other) = (members[0], members[1])
        log.fail(keeping: isKept)
        let event = try one.event(of: 0x31, Self.content(1))
        #expect(throws: SharedLog.Unavailable.self) { try one.registry.apply(event) }
        #expect(try Self.devices(one.registry).isEmpty)
        // Its sender tries again.
        let result = try one.registry.apply(event)
        let number = DeviceID(rawValue: 1)
        #expect(result == (isKept ? .duplicate : .registered(number)) || result == .outdated)
        try other.registry.catchUp()
        #expect(try Self.devices(other.registry).count == 1)
        #expect(try Self.devices(one.registry) == Self.devices(other.registry))
    }

    @Test func aMemberGoesOnWhereItWas() throws {
        let log = SharedLog()
        let members = try Self.members(2, log)
        _ = try members[0].registry.apply(members[0].event(of: 0x31, Self.content(1)))
        try members[1].registry.catchUp()
        try members[1].reopen()
        _ = try members[0].registry.apply(members[0].event(of: 0x32, Self.content(2)))
        try members[1].registry.join(log, name: "again")
        #expect(try Self.devices(members[1].registry) == Self.devices(members[0].registry))
    }

    @Test func standaloneRegistryCannotJoin() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 0x31, Self.content(1)))
        #expect(throws: RegistryStoreError.ofSingleRouter(path: bench.path)) {
            try bench.registry.join(SharedLog(), name: "a")
        }
    }

    @Test func localDataIsNotReplicated() throws {
        let log = SharedLog()
        let members = try Self.members(1, log)
        try members[0].registry.writeWatch { _ in }
        _ = try members[0].registry.admit([])
        // A change without effect is not written to the log.
        try members[0].registry.forgetFollowed()
        #expect(log.count == 0)
    }
}
