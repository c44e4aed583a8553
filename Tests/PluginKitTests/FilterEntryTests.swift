import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

/// Filters in Swift through the ABI.
struct FilterEntryTests {
    /// A filter controlled by its only setting.
    private final class Fixture: PluginFilter {
        static let name: StaticString = "fixture"
        static let wantedKinds: [UInt32] = [10_000, 3]
        static var maxNeeded: FollowNeed { .distance }
        static var isAskedAfterRendering: Bool { true }

        let behaviour: String

        init(configuration: JSONObject, host: Host) throws(PluginError) {
            behaviour = try configuration.requiredText("do", expected: "a behaviour")
        }

        var need: FollowNeed { behaviour == "need-less" ? .followed : .distance }

        func decide(_ call: borrowing FilterCall) throws(PluginError) -> FilterDecision {
            switch behaviour {
            case "drop": return .drop(reason: "\(call.signal.string) \(call.author.string) \(call.recipientEventCount)")
            case "fail": throw PluginError("cannot")
            case "edit":
                let title = call.withNotification { $0.title.string } ?? "none"
                return call.set("title", title + "!") ? .pass : .drop(reason: "not taken")
            default:
                return call.followDistance == .unknown && call.recipientEvent(at: 0) == nil ? .pass : .drop(reason: "")
            }
        }
    }

    private struct Answer: Equatable {
        let status: carillon_status
        let decision: carillon_verdict

        init(_ status: carillon_status, _ decision: carillon_verdict) {
            self.status = status
            self.decision = decision
        }
    }

    /// The settings that a call made.
    private final class Sets {
        var entries: [(field: String, value: String)] = []
        var status = carillon_status.CARILLON_OK
    }

    // Lives as long as the process, and is only read.
    private nonisolated(unsafe) static let plugin = PluginDescriptor.make(
        id: "org.example.filter",
        version: "1",
        filters: [FilterEntry(Fixture.self) { FilterEntry.make(Fixture.self, $0, $1, $2, $3) }]
    )

    private let host = FakeHost()
    private let arena = ABIArena()

    private var table: carillon_filter {
        get throws { try #require(Self.plugin.pointee.filters?[0]).pointee }
    }

    private func instance(_ configuration: String) throws -> UnsafeMutableRawPointer {
        var instance: UnsafeMutableRawPointer?
        let status = try table.create(host.pointer, arena.text(configuration), &instance, nil)
        #expect(status == .CARILLON_OK)
        return try #require(instance)
    }

    private func decide(
        _ behaviour: String,
        _ sets: Sets = Sets(),
        _ change: (inout carillon_filter_call) -> Void = { _ in }
    ) throws -> Answer {
        let instance = try instance(#"{"do":"\#(behaviour)"}"#)
        defer { try? table.destroy(instance) }
        var call = carillon_filter_call()
        call.struct_size = UInt32(MemoryLayout<carillon_filter_call>.size)
        call.signal = arena.text("mention")
        call.author = arena.text("a")
        call.recipient_events = arena.array([arena.text("{}")])
        call.recipient_event_count = 1
        call.edit = OpaquePointer(Unmanaged.passUnretained(sets).toOpaque())
        call.set = { edit, field, value in
            guard let edit else { return .CARILLON_INVALID }
            let sets = Unmanaged<Sets>.fromOpaque(UnsafeRawPointer(edit)).takeUnretainedValue()
            sets.entries.append((FakeHost.text(field), FakeHost.text(value)))
            return sets.status
        }
        change(&call)
        var decision = carillon_verdict.CARILLON_PASS
        let status = try withExtendedLifetime(sets) { try table.decide(instance, &call, &decision) }
        return Answer(status, decision)
    }

    @Test func filterTableMatchesItsType() throws {
        let table = try table
        #expect(FakeHost.text(table.name) == "fixture" && table.wanted_kind_count == 2)
        #expect(table.wanted_kinds[0] == 10_000 && table.wanted_kinds[1] == 3)
        #expect(table.flags == UInt32(CARILLON_FILTER_RENDERED | CARILLON_FILTER_ASKS_DISTANCE))
        #expect(table.struct_size == MemoryLayout<carillon_filter>.size)
        #expect(Self.plugin.pointee.transport_count == 0 && Self.plugin.pointee.filter_count == 1)
        #expect(table.needs(try instance(#"{"do":"need-less"}"#)) == UInt32(CARILLON_FILTER_ASKS_FOLLOWED))
        #expect(table.needs(try instance(#"{"do":"x"}"#)) == UInt32(CARILLON_FILTER_ASKS_DISTANCE))
    }

    @Test func dropHasAReason() throws {
        let sets = Sets()
        #expect(try decide("drop", sets) == Answer(.CARILLON_OK, .CARILLON_DROP))
        #expect(sets.entries.map(\.field) == ["reason"] && sets.entries.map(\.value) == ["mention a 1"])
    }

    @Test func thrownErrorIsAFailure() throws {
        #expect(try decide("fail").status == .CARILLON_FAILED)
    }

    @Test func aNotificationIsSeenAndEdited() throws {
        let sets = Sets()
        var notification = carillon_notification()
        notification.struct_size = UInt32(MemoryLayout<carillon_notification>.size)
        notification.title = arena.text("title")
        let borrowed = arena.array([notification])
        #expect(try decide("edit", sets) { $0.notification = borrowed } == Answer(.CARILLON_OK, .CARILLON_PASS))
        #expect(sets.entries.map(\.field) == ["title"] && sets.entries.map(\.value) == ["title!"])
        sets.status = .CARILLON_UNSUPPORTED
        #expect(try decide("edit", sets).decision == .CARILLON_DROP)
    }

    /// A host of ABI 1.2 has no authors and distances; the memory after its struct is not read.
    @Test func olderHostOmitsFields() throws {
        let answer = try decide("drop") { $0.struct_size = 96 }
        #expect(answer == Answer(.CARILLON_OK, .CARILLON_DROP))
        let sets = Sets()
        _ = try decide("drop", sets) { $0.struct_size = 96 }
        #expect(sets.entries.map(\.value) == ["mention  1"])
        #expect(try decide("pass") { $0.struct_size = 8 } == Answer(.CARILLON_OK, .CARILLON_PASS))
    }

    @Test func settingsAreRefusedInWords() throws {
        var room = [CChar](repeating: 0, count: 64)
        var instance: UnsafeMutableRawPointer?
        let create = try #require(table.create)
        let said = room.withUnsafeMutableBufferPointer { room in
            var error = carillon_error(buf: room.baseAddress, capacity: room.count, len: 0)
            #expect(create(host.pointer, arena.text("{}"), &instance, &error) == .CARILLON_INVALID)
            return String(decoding: UnsafeRawBufferPointer(room).prefix(error.len), as: UTF8.self)
        }
        #expect(said == "do: expected a behaviour, found nothing" && instance == nil)
    }
}

struct NostrEventTests {
    @Test func invalidTagElementEndsItsTag() throws {
        let event = try NostrEvent(
            parsing:
                #"{"id":"i","pubkey":"p","kind":1,"content":"c","tags":[["e","1"],[],["p",1],[1],3,["e"],["e","2","x"]]}"#
        )
        #expect(event.id == "i" && event.pubkey == "p" && event.kind == 1 && event.content == "c")
        #expect(event.tags == [["e", "1"], ["p"], ["e"], ["e", "2", "x"]])
        #expect(event.values(of: "e") == ["1", "2"])
    }

    @Test func missingFieldIsEmpty() throws {
        let event = try NostrEvent(parsing: "{}")
        #expect(event.id.isEmpty && event.tags.isEmpty && event.kind == -1)
        #expect(throws: JSONError.self) { try NostrEvent(parsing: "[]") }
    }
}

struct RecipientMemoryTests {
    @Test func aListIsReadOnceUntilItChanges() {
        let arena = ABIArena()
        let memory = RecipientMemory<Int>(room: 1000)
        var reads = 0
        func value(_ text: String, _ recipient: String) -> Int {
            memory.value(of: BorrowedText(arena.text(text)), for: recipient) { text in
                reads += 1
                return text.count
            }
        }
        #expect([value("one", "a"), value("one", "a"), value("two!", "a"), value("two!", "a")] == [3, 3, 4, 4])
        #expect(reads == 2)
        #expect(value("two!", "b") == 4 && reads == 3)
        #expect(value("", "c") == 0 && value("", "c") == 0 && reads == 4)
    }

    @Test func recipientMemoryIsBoundedByBytes() {
        let arena = ABIArena()
        let memory = RecipientMemory<Int>(room: 1000)
        var reads = 0
        for round in 0..<2 {
            for recipient in 0..<20 {
                let text = BorrowedText(arena.text(String(repeating: "x", count: 100)))
                _ = memory.value(of: text, for: "\(recipient)") { _ in
                    reads += 1
                    return round
                }
            }
        }
        #expect(reads == 40)
        let long = BorrowedText(arena.text(String(repeating: "x", count: 501)))
        for _ in 0..<2 {
            _ = memory.value(of: long, for: "long") { _ in
                reads += 1
                return 0
            }
        }
        #expect(reads == 42, "what takes half the room is not remembered")
    }

    @Test func memoryOfListsIsCounted() {
        let arena = ABIArena()
        let memory = RecipientMemory<Int>(room: 1000) { $0 }
        var reads = 0
        for weight in [300, 600] {
            for _ in 0..<2 {
                _ = memory.value(of: BorrowedText(arena.text("x")), for: "\(weight)") { _ in
                    reads += 1
                    return weight
                }
            }
        }
        #expect(reads == 3, "what takes more than half the room is not remembered")
    }
}
