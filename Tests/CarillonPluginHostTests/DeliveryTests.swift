import CarillonABI
import PluginProtocol
import Testing

/// Deliveries, requests and outcomes.
@Suite struct DeliveryTests {
    @Test func aDeliveryTakesARequest() throws {
        let child = try Child.guest()
        child.deliver(7, "request")
        let request = try child.result(.request)
        try request.read { frame in
            let message = try RequestMessage(reading: frame)
            #expect(message.instance == 1 && message.ticket == 7)
            message.withCStruct { request in
                #expect(text(request.pointee.method) == "POST")
                #expect(text(request.pointee.url) == "https://example.com/")
                #expect(text(request.pointee.body) == "hello")
                #expect(request.pointee.header_count == 1)
            }
        }
        child.send { $0.respond(request.id, status: 200, "body") }
        #expect(try child.completed() == (7, "status-200-1-4"))
    }

    @Test func requestsEndInAnyOrderAndWithoutAnAnswer() throws {
        let child = try Child.guest()
        child.send { writer in
            for ticket in 1...3 { writer.deliver(UInt64(ticket), "request") }
        }
        let numbers = try (1...3).map { _ in try child.result(.request).id }
        child.send { writer in
            writer.respond(numbers[2], status: 0, failure: "tls")
            writer.respond(numbers[0], status: 410)
            writer.respond(numbers[1], status: 201)
        }
        #expect(try child.completed() == (3, "tls"))
        #expect(try child.completed() == (1, "status-410-1-0"))
        #expect(try child.completed() == (2, "status-201-1-0"))
    }

    @Test func anAnswerToNoRequestEndsTheProcess() throws {
        let child = try Child.guest()
        child.send { $0.respond(1, status: 200) }
        #expect(child.end() == (0, 1))
    }

    @Test func requestsAreLimited() throws {
        let child = try Child.guest()
        child.deliver(1, "requests")
        var requests = 0
        while true {
            let received = try child.result()
            guard received.kind == .request else { break }
            requests += 1
        }
        #expect(requests == 68)
    }

    @Test func malformedRequestsAreRefusedAndCounted() throws {
        let child = try Child.guest()
        child.deliver(1, "bad-request")
        let mistake = try child.result(.mistake).read { try ViolationMessage(reading: $0) }
        #expect(mistake.rule == .request && mistake.instance == 1)
        #expect(mistake.text == "url is not an absolute http or https URL of at most 8192 ASCII bytes")
        #expect(try child.completed() == (1, "invalid"))
    }

    @Test func invalidOutcomesAreReported() throws {
        let child = try Child.guest()
        child.deliver(1, "no-outcome")
        let received = try child.result(.completed)
        #expect(try received.read { try OutcomeMessage(reading: $0).outcome.kind.rawValue } == -1)
        child.deliver(2, "long-reason")
        #expect(try child.completed() == (2, "?"))
    }

    @Test func refusalsCarryTheirStatus() throws {
        let child = try Child.guest()
        child.deliver(1, "refuse")
        let received = try child.result(.refused)
        #expect(received.id == 1)
        #expect(try received.read { try RefusedMessage(reading: $0).status } == .CARILLON_UNSUPPORTED)
        child.deliver(2, "complete", instance: 99)
        #expect(try child.result(.refused).read { try RefusedMessage(reading: $0).status } == .CARILLON_FAILED)
    }

    /// The router counts them, but up to a limit.
    @Test func secondAndUnknownOutcomesArePassedOnUpToABound() throws {
        let child = try Child.guest()
        child.deliver(1, "twice")
        #expect(try child.completed() == (1, "first"))
        #expect(try child.completed() == (1, "second"))
        child.deliver(2, "unknown")
        var strays = 0
        while try child.completed().ticket == 999 { strays += 1 }
        #expect((99...400).contains(strays))
    }

    @Test func logLinesAreLimited() throws {
        let child = try Child.guest()
        child.deliver(1, "chatter")
        var lines = 0
        while try child.result().kind == .log { lines += 1 }
        #expect((100...500).contains(lines))
    }

    @Test(arguments: ["thread", "timer", "host-timer"])
    func threadsAndTimersOfPluginsWork(_ what: String) throws {
        let child = try Child.guest()
        child.deliver(1, what)
        #expect(try child.completed() == (1, what))
    }

    @Test func activeDeliveriesCanBeCancelled() throws {
        let child = try Child.guest()
        child.deliver(1, "silent")
        child.send { $0.frame(.cancel, id: 1) { InstanceMessage(instance: 1).write(to: &$0) } }
        #expect(try child.completed() == (1, "cancelled"))
        // The delivery has ended, and that instance never existed.
        child.send { writer in
            writer.frame(.cancel, id: 1) { InstanceMessage(instance: 1).write(to: &$0) }
            writer.frame(.cancel, id: 2) { InstanceMessage(instance: 9).write(to: &$0) }
            writer.deliver(3, "complete")
        }
        #expect(try child.completed() == (3, "complete"))
    }
}
