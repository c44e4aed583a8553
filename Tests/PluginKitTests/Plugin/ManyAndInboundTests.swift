import CarillonABI
import PluginTestSupport
import Testing

@testable import PluginKit

/// Several deliveries at the same time, and inbound requests, as a host passes them.
struct ManyAndInboundTests {
    private final class Transport: PluginTransport {
        static let platform: StaticString = "many"
        static let deliverManyLimit = 4
        static let manyPerToken = true

        private let host: Host

        init(configuration: JSONObject, host: Host) throws(PluginError) {
            self.host = host
        }

        func validate(_ registration: borrowing Registration) throws(PluginError) {}

        func deliver(
            _ ticket: Ticket,
            _ registration: borrowing Registration,
            _ notification: borrowing Notification
        ) -> Acceptance { .busy }

        func deliverMany(_ deliveries: borrowing DeliveryList) -> Acceptance {
            let what = deliveries.withDelivery(0) { _, notification in notification.body.string }
            if what == "refuse" { return .busy }
            for index in 0..<deliveries.count {
                let reason = deliveries.withDelivery(index) { registration, notification in
                    registration.token.string + "-" + notification.title.string
                }
                if what != "forget" { deliveries.ticket(index).complete(Outcome(.delivered, reason: reason)) }
                if what == "complete one and refuse" { return .failed }
            }
            return .accepted
        }

        func receive(_ request: InboundRequest, answer: @escaping @Sendable (InboundAnswer) -> Void) -> Acceptance {
            switch request.path {
            case "/refuse": return .invalid
            case "/forget": return .accepted
            case "/twice":
                answer(InboundAnswer(status: 200))
                answer(InboundAnswer(status: 201))
                return .busy
            case "/url": answer(InboundAnswer(status: 200, text: host.inboundURL ?? "none"))
            default:
                let text = [request.method, request.path, request.query, request.header("x-id") ?? "none"]
                    .joined(separator: " ")
                answer(InboundAnswer(status: 202, headers: [("x-a", "1"), ("x-b", "")], body: Array(text.utf8)))
            }
            return .accepted
        }
    }

    private static var entry: TransportEntry {
        TransportEntry(Transport.self) { TransportEntry.make(Transport.self, $0, $1, $2, $3) }
    }

    private func made(_ host: FakeHost) throws -> (table: carillon_transport, instance: UnsafeMutableRawPointer) {
        let table = Self.entry.table().pointee
        var instance: UnsafeMutableRawPointer?
        let arena = ABIArena()
        let status = withExtendedLifetime(arena) { table.create(host.pointer, arena.text("{}"), &instance, nil) }
        #expect(status == .CARILLON_OK)
        return (table, try #require(instance))
    }

    /// Returns the result of `deliver_many`, and the outcomes of its deliveries.
    private func run(_ body: String, count: Int = 2) throws -> (status: carillon_status?, outcomes: [RecordedOutcome]) {
        let host = FakeHost()
        let (table, instance) = try made(host)
        #expect(table.deliver_many_limit == 4 && table.flags & UInt32(CARILLON_TRANSPORT_MANY_PER_TOKEN) != 0)
        let status = SampleRegistration(token: "t").withABI { registration in
            SampleNotification.alert(title: "x", body: body).withABI { notification in
                let deliveries = [UInt64(7), 8].map { ticket in
                    carillon_delivery(
                        struct_size: UInt32(MemoryLayout<carillon_delivery>.size),
                        reserved: 0,
                        ticket: ticket,
                        registration: registration,
                        notification: ticket == 8 && body == "NULL" ? nil : notification
                    )
                }
                return deliveries.withUnsafeBufferPointer { deliveries in
                    var pointers = deliveries.indices.map { index in deliveries.baseAddress.map { $0 + index } }
                    return table.deliver_many?(instance, &pointers, count)
                }
            }
        }
        table.destroy(instance)
        return (status, host.outcomes)
    }

    @Test func everyDeliveryOfABatchEndsOnce() throws {
        let (status, outcomes) = try run("complete")
        #expect(status == .CARILLON_OK)
        #expect(outcomes.map(\.ticket) == [7, 8] && outcomes.map(\.reason) == ["t-x", "t-x"])
    }

    @Test func forgottenDeliveryIsRetried() throws {
        let (status, outcomes) = try run("forget")
        #expect(status == .CARILLON_OK && outcomes.map(\.kind) == [.CARILLON_RETRY, .CARILLON_RETRY])
    }

    @Test func batchIsTakenCompletelyOrNotAtAll() throws {
        #expect(try run("refuse") == (.CARILLON_BUSY, []))
        let (status, outcomes) = try run("complete one and refuse")
        #expect(status == .CARILLON_OK && outcomes.map(\.ticket) == [7, 8])
        #expect(outcomes.map(\.reason) == ["t-x", "abandoned"])
    }

    @Test func incompleteBatchIsRefused() throws {
        #expect(try run("NULL") == (.CARILLON_INVALID, []))
        #expect(try run("complete", count: 0) == (.CARILLON_INVALID, []))
    }

    @Test func transportWithoutBatchesHasNoFunction() throws {
        let table = try #require(echoPlugin.pointee.transports?[0]).pointee
        #expect(table.deliver_many == nil && table.deliver_many_limit == 0)
    }

    private func ask(_ path: String, host: FakeHost = FakeHost()) throws -> (carillon_status?, [String]) {
        let (table, instance) = try made(host)
        let (answers, arena) = (Heard<String>(), ABIArena())
        var request = carillon_inbound_request()
        request.struct_size = UInt32(MemoryLayout<carillon_inbound_request>.size)
        request.method = arena.text("GET")
        request.path = arena.text(path)
        request.query = arena.text("a=1")
        request.headers = arena.array([carillon_field(name: arena.text("x-id"), value: arena.text("5"))])
        request.header_count = 1
        let status = withExtendedLifetime((answers, arena)) {
            table.receive?(
                instance,
                &request,
                { context, answer in
                    guard let context, let answer = answer?.pointee else { return }
                    let fields = UnsafeBufferPointer(start: answer.headers, count: answer.header_count)
                        .map { "\(FakeHost.text($0.name))=\(FakeHost.text($0.value))" }
                    Unmanaged<Heard<String>>.fromOpaque(context).takeUnretainedValue()
                        .add("\(answer.status) \(fields.joined(separator: "&")) \(FakeHost.text(answer.body))")
                },
                Unmanaged.passUnretained(answers).toOpaque()
            )
        }
        table.destroy(instance)
        return (status, answers.all)
    }

    @Test func aRequestIsAnsweredOnce() throws {
        #expect(try ask("/x") == (.CARILLON_OK, ["202 x-a=1&x-b= GET /x a=1 5"]))
        #expect(try ask("/twice") == (.CARILLON_OK, ["200  "]))
        #expect(try ask("/forget") == (.CARILLON_OK, ["500  "]))
        #expect(try ask("/refuse") == (.CARILLON_INVALID, []))
    }

    @Test func urlComesFromTheHost() throws {
        let url = "https://push.example.com/plugins/many/default"
        let type = "content-type=text/plain; charset=utf-8"
        #expect(try ask("/url", host: FakeHost(inboundURL: url)) == (.CARILLON_OK, ["200 \(type) \(url)"]))
        #expect(try ask("/url", host: FakeHost()).1 == ["200 \(type) none"])
        #expect(try ask("/url", host: FakeHost(hasServices: false)).1 == ["200 \(type) none"])
    }
}
