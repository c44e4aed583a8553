import CarillonABI
import PluginProtocol
import Testing

/// Several deliveries in one frame, and requests from outside, to a plugin that supports neither.
@Suite struct ManyAndInboundTests {
    /// Returns one frame with the deliveries of these titles.
    private func together(_ titles: [(ticket: UInt64, title: String)], instance: UInt32 = 1) -> [UInt8] {
        let frames = titles.map { ticket, title in
            var writer = FrameWriter()
            writer.deliver(ticket, title, instance: instance)
            return (ticket, writer.take())
        }
        var writer = FrameWriter()
        writer.frame(.deliverMany, id: titles.first?.ticket ?? 0) { DeliverManyMessage.write(frames, to: &$0) }
        return writer.take()
    }

    @Test func batchIsSplitIfThePluginTakesNone() throws {
        let child = try Child.guest()
        child.send { $0.append(together([(1, "complete"), (2, "refuse"), (3, "request")])) }
        #expect(try child.completed() == (1, "complete"))
        let refused = try child.result(.refused)
        #expect(refused.id == 2)
        #expect(try refused.read { try RefusedMessage(reading: $0).status } == .CARILLON_UNSUPPORTED)
        let request = try child.result(.request)
        #expect(try request.read { try RequestMessage(reading: $0).ticket } == 3)
    }

    @Test func missingInstanceRefusesEveryDelivery() throws {
        let child = try Child.guest()
        child.send { $0.append(together([(1, "complete"), (2, "complete")], instance: 9)) }
        for ticket in [1, 2] as [UInt64] {
            let refused = try child.result(.refused)
            #expect(refused.id == ticket)
            #expect(try refused.read { try RefusedMessage(reading: $0).status } == .CARILLON_FAILED)
        }
    }

    /// An honest router never sends a batch of fewer than two deliveries, or a delivery twice.
    @Test(arguments: [[1], [], [1, 1]] as [[UInt64]])
    func nonsenseEndsTheProcess(_ tickets: [UInt64]) throws {
        let child = try Child.guest()
        child.send { $0.append(together(tickets.map { ($0, "complete") })) }
        #expect(child.end() == (0, 1))
    }

    @Test(arguments: [1, 9] as [UInt32])
    func unhandledRequestIsRefusedWith404(_ instance: UInt32) throws {
        let child = try Child.guest()
        child.send { writer in
            writer.frame(.receive, id: 5) { body in
                withCStrings(["GET", "/x"]) { texts in
                    var request = carillon_inbound_request()
                    request.method = texts[0]
                    request.path = texts[1]
                    ReceiveMessage.write(instance: instance, request, to: &body)
                }
            }
        }
        let received = try child.result(.received)
        #expect(received.id == 5)
        try received.read { frame in
            let message = try ReceivedMessage(reading: frame)
            #expect(message.instance == instance && message.status == .CARILLON_UNSUPPORTED)
            message.withCStruct { #expect($0.pointee.status == 404) }
        }
    }
}
