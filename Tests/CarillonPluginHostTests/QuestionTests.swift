import CarillonABI
import PluginProtocol
import Testing

/// Questions to plugins, and theirs to the router.
@Suite struct QuestionTests {
    @Test func instancesAreCreatedAndDestroyed() throws {
        let child = try Child.guest()
        #expect(
            try child.create(2, "refuse") == .init(status: .CARILLON_INVALID, text: "expected something else")
        )
        let long = try child.create(2, "refuse-at-length")
        #expect(long.status == .CARILLON_FAILED && long.text.count == 512)
        #expect(try child.create(2) == .init(status: .CARILLON_OK))
        child.ask(.destroy, id: 5) { InstanceMessage(instance: 2).write(to: &$0) }
        #expect(try child.answered(5) == .init(status: .CARILLON_OK))
        #expect(try child.result(.log).read { text(try LogMessage(reading: $0).text) } == "destroyed")
        child.deliver(1, "complete")
        #expect(try child.completed() == (1, "complete"))
    }

    @Test(arguments: [("token", carillon_status.CARILLON_OK, ""), ("other!", .CARILLON_INVALID, "1 fields")])
    func registrationsAreValidated(_ token: String, _ status: carillon_status, _ said: String) throws {
        let child = try Child.guest()
        child.ask(.validate, id: 9) { writer in
            withCStrings([token, "name", "value"]) { texts in
                withUnsafePointer(to: carillon_field(name: texts[1], value: texts[2])) { field in
                    var registration = carillon_registration()
                    registration.token = texts[0]
                    registration.fields = field
                    registration.field_count = 1
                    ValidateMessage.write(instance: 1, registration, to: &writer)
                }
            }
        }
        #expect(try child.answered(9) == .init(status: status, text: said))
    }

    @Test func blocksAreChecked() throws {
        let child = try Child.guest()
        for (block, answer) in [
            ("{}", Child.Answer(status: .CARILLON_OK)),
            ("{\"a\":1}", .init(status: .CARILLON_INVALID, text: "/a: expected {}")),
        ] {
            child.ask(.check, id: 9) { writer in
                withCStrings([block]) { CheckMessage.write(library: 0, index: 0, $0[0], to: &writer) }
            }
            #expect(try child.answered(9) == answer)
        }
    }

    @Test func commandsAreAnsweredOnce() throws {
        let child = try Child.guest()
        for (words, answer) in [
            (["echo", "text"], Child.Answer(status: .CARILLON_OK, number: 1, text: "text")),
            (["fail", "why"], .init(status: .CARILLON_FAILED, number: 1, text: "why")),
            (["none"], .init(status: .CARILLON_UNSUPPORTED)), ([], .init(status: .CARILLON_UNSUPPORTED)),
        ] {
            child.ask(.command, id: 9) { writer in
                withCStrings(words) { CommandMessage.write(instance: 1, $0, count: $0.count, to: &writer) }
            }
            #expect(try child.answered(9) == answer)
        }
    }

    // MARK: Filters

    private struct Decision {
        var status: carillon_status
        var decision: Int32
        var edits: [String]
    }

    private func decide(_ child: Child, signal: String, isRendered: Bool) throws -> Decision {
        child.ask(.decide, id: 9) { writer in
            withCStrings([signal, "{}", "why"]) { texts in
                var call = carillon_filter_call()
                var notification = carillon_notification()
                notification.mode = .CARILLON_ALERT
                call.signal = texts[0]
                call.zap_millisats = 21_000
                let events = [texts[1], texts[2]]
                events.withUnsafeBufferPointer { events in
                    call.recipient_events = events.baseAddress
                    call.recipient_event_count = events.count
                    withUnsafePointer(to: notification) { notification in
                        if isRendered { call.notification = notification }
                        DecideMessage.write(instance: 2, call, to: &writer)
                    }
                }
            }
        }
        return try child.answer(.decided).read { frame in
            let message = try DecidedMessage(reading: frame)
            return Decision(
                status: message.status,
                decision: message.decision.rawValue,
                edits: message.edits.map { "\(text($0.name))=\(text($0.value))" }
            )
        }
    }

    @Test func filtersDecideAndEdit() throws {
        let child = try Child.guest()
        #expect(try child.create(2, table: .filter) == .init(status: .CARILLON_OK, number: 4))
        let early = try decide(child, signal: "dm", isRendered: false)
        #expect(early.status == .CARILLON_OK && early.decision == 1)
        #expect(early.edits == ["reason=why"])
        let late = try decide(child, signal: "dm", isRendered: true)
        #expect(late.decision == 1)
        #expect(late.edits == ["reason=why", "title=New title"])
        // The edit with two lines counts as an error, each time.
        #expect(try child.result(.mistake).read { try ViolationMessage(reading: $0).rule } == .edit)
    }

    @Test func failedFiltersSetNoEdits() throws {
        let child = try Child.guest()
        _ = try child.create(2, table: .filter)
        let failed = try decide(child, signal: "fail", isRendered: false)
        #expect(failed.status == .CARILLON_FAILED && failed.edits.isEmpty)
        #expect(try decide(child, signal: "odd", isRendered: false).decision == 17)
    }

    // MARK: What the child asks

    private func reply(_ child: Child, _ status: carillon_status, _ said: String) throws {
        let question = try child.answer(.present)
        try question.read { frame in
            let message = try PresentMessage(reading: frame)
            #expect(text(message.connection) == "word")
            #expect(text(message.certificates) == "CERTIFICATES")
            #expect(text(message.key) == "KEY")
        }
        child.ask(.reply, id: question.id) { writer in
            withCStrings([said]) { AnswerMessage.write(status, $0[0], to: &writer) }
        }
    }

    @Test func certificatesArePresentedInsideCreate() throws {
        let child = try Child.guest()
        let message = CreateMessage(instance: 2, library: 0, table: .transport, index: 0, configuration: "present")
        child.ask(.create, id: 5) { message.write(to: &$0) }
        try reply(child, .CARILLON_OK, "")
        #expect(try child.answered(5) == .init(status: .CARILLON_OK))
        child.ask(.create, id: 6) {
            var message = message
            message.instance = 3
            message.write(to: &$0)
        }
        try reply(child, .CARILLON_INVALID, "key: expected PEM")
        #expect(try child.answered(6) == .init(status: .CARILLON_INVALID, text: "key: expected PEM"))
    }

    @Test func certificatesArePresentedInsideDeliver() throws {
        let child = try Child.guest()
        child.deliver(1, "present")
        try reply(child, .CARILLON_INVALID, "no")
        #expect(try child.completed() == (1, "1-no"))
    }

    // MARK: Pings

    @Test func pingsAreAnsweredWhilePluginsAreBusy() throws {
        let child = try Child.guest()
        child.ask(.ping, id: 1)
        let idle = try child.answer(.pong).read { try PongMessage(reading: $0) }
        #expect(idle.deliveries == .init(thread: child.hello.deliveries, kind: 0, id: 0, milliseconds: 0))
        #expect(idle.questions == .init(thread: child.hello.questions, kind: 0, id: 0, milliseconds: 0))
        child.deliver(7, "hang")
        child.ask(.command, id: 9) { writer in
            withCStrings(["hang"]) { CommandMessage.write(instance: 1, $0, count: 1, to: &writer) }
        }
        while true {
            child.ask(.ping, id: 2)
            let pong = try child.answer(.pong).read { try PongMessage(reading: $0) }
            guard pong.deliveries.kind != 0, pong.questions.kind != 0, pong.questions.milliseconds > 0 else { continue }
            #expect(pong.deliveries.kind == UInt32(FrameKind.deliver.rawValue) && pong.deliveries.id == 7)
            #expect(pong.questions.kind == UInt32(FrameKind.command.rawValue) && pong.questions.id == 9)
            break
        }
    }
}
