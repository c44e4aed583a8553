import CarillonABI
import Core
import PluginProtocol
import Testing

/// The state of an instance, between the process and its router.
@Suite struct StateTests {
    private let child: Child

    init() throws { child = try Child.guest() }

    private func entry(_ value: String, key: String = "key") -> StateEntry {
        StateEntry(key: Array(key.utf8), value: Array(value.utf8))
    }

    private func stored(_ value: String, handled: UInt64, isWhole: Bool = false, instance: UInt32 = 1) {
        child.send { writer in
            writer.frame(.stored, id: handled) {
                StoredMessage(instance: instance, isWhole: isWhole, entries: [entry(value)]).write(to: &$0)
            }
        }
    }

    private func kept(_ ticket: UInt64, instance: UInt32 = 1) throws -> String {
        child.deliver(ticket, "get", instance: instance)
        return try child.completed().reason
    }

    @Test func newInstanceGetsOnlyItsOwnState() throws {
        #expect(try kept(1) == "none")
        #expect(try child.create(2, state: [entry("kept")]).status == .CARILLON_OK)
        #expect(try kept(2, instance: 2) == "kept")
        #expect(try kept(3) == "none")
    }

    @Test func changesAreNumbered() throws {
        for number: UInt64 in 1...3 {
            child.deliver(number, "set")
            let store = try child.result(.store)
            #expect(store.id == number)
            let message = try store.read { try StoreMessage(reading: $0) }
            #expect(message == StoreMessage(instance: 1, entry: entry("own")))
            #expect(try child.completed() == (number, "own"))
        }
    }

    @Test func onlyLaterChangesFromElsewhereCount() throws {
        child.deliver(1, "set")
        _ = try child.result(.store)
        #expect(try child.completed().reason == "own")
        stored("earlier", handled: 0)
        stored("earlier", handled: 0, isWhole: true)
        #expect(try kept(2) == "own")
        stored("later", handled: 1)
        #expect(try kept(3) == "later")
        stored("", handled: 1)
        #expect(try kept(4) == "none")
        // The instance has ended, or never existed.
        stored("x", handled: 1, instance: 99)
        #expect(try kept(5) == "none")
    }

    /// A router never sends these keys and values.
    @Test(arguments: [("", "x"), ("ä", "x"), (String(repeating: "k", count: 65), "x")])
    func invalidKeysEndTheProcess(_ key: String, _ value: String) throws {
        child.send { writer in
            writer.frame(.stored, id: 0) {
                StoredMessage(instance: 1, isWhole: false, entries: [entry(value, key: key)]).write(to: &$0)
            }
        }
        #expect(child.end() == (0, 1))
        #expect(child.errorText().contains("an invalid number"))
    }
}
