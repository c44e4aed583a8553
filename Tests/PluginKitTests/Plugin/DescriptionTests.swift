import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

/// A transport's description of its platform, through the ABI.
struct DescriptionTests {
    /// Describes its platform, and rejects a `tone` of 13.
    private final class DescribedTransport: PluginTransport {
        static let platform: StaticString = "described"
        static let description: StaticString? = #"{"version":1,"name":"Täst","target":{"kind":"token"}}"#

        init(configuration: JSONObject, host: Host) throws(PluginError) {}

        static func check(_ block: JSONObject) throws(PluginError) {
            guard block["tone"]?.integer == 13 else { return }
            throw PluginError(at: "/tone", "expected another number")
        }

        func validate(_ registration: borrowing Registration) throws(PluginError) {}

        func deliver(
            _ ticket: Ticket,
            _ registration: borrowing Registration,
            _ notification: borrowing Notification
        ) -> Acceptance { .unsupported }
    }

    private static func transport(hasCheck: Bool) throws -> carillon_transport {
        let create: TransportEntry.Create = { TransportEntry.make(DescribedTransport.self, $0, $1, $2, $3) }
        let entry =
            hasCheck
            ? TransportEntry(
                DescribedTransport.self,
                check: { TransportEntry.check(DescribedTransport.self, $0, $1) },
                create: create
            ) : TransportEntry(DescribedTransport.self, create: create)
        let plugin = PluginDescriptor.make(id: "org.example.described", version: "1", transports: [entry])
        return try #require(plugin.pointee.transports?[0]).pointee
    }

    /// The status and the words of the transport's check.
    private func answer(to block: String) throws -> (status: carillon_status, said: String) {
        let check = try #require(try Self.transport(hasCheck: true).check)
        let arena = ABIArena()
        var room = [CChar](repeating: 0, count: 100)
        return room.withUnsafeMutableBufferPointer { room in
            var error = carillon_error(buf: room.baseAddress, capacity: room.count, len: 0)
            let status = check(arena.text(block), &error)
            return (status, FakeHost.text(carillon_str(ptr: error.buf, len: error.len)))
        }
    }

    @Test func describeFunctionIsInTheTable() throws {
        let transport = try Self.transport(hasCheck: false)
        #expect(transport.struct_size == UInt32(MemoryLayout<carillon_transport>.size))
        #expect(FakeHost.text(transport.platform) == "described")
        #expect(FakeHost.text(transport.describe) == DescribedTransport.description?.description)
        #expect(transport.check == nil)
    }

    @Test func describeFunctionIsAbsentWithoutADescription() throws {
        let transport = try #require(echoPlugin.pointee.transports?[0]).pointee
        #expect(transport.describe.len == 0)
        #expect(transport.describe.ptr == nil)
        #expect(transport.check == nil)
    }

    @Test(arguments: [
        ("{}", carillon_status.CARILLON_OK, ""), (#"{"tone":12}"#, .CARILLON_OK, ""),
        (#"{"tone":13}"#, .CARILLON_INVALID, "/tone: expected another number"),
        ("[]", .CARILLON_INVALID, "block: expected an object at byte 0"),
        ("", .CARILLON_INVALID, "block: expected an object at byte 0"),
    ])
    func checkFunctionCallsTheTransport(block: String, status: carillon_status, said: String) throws {
        let answer = try answer(to: block)
        #expect(answer.status == status)
        #expect(answer.said == said)
    }
}
