import CarillonABI
import Core
import Dispatch
import Glibc
import PluginProtocol
import Synchronization
import Testing
import TimeTestSupport

@testable import PluginHost

/// The router's side of a plugin process, against a scripted peer.
@Suite(.timeLimit(.minutes(1)))
struct ChildSessionTests {
    private let child: ScriptedChild
    private let session: ChildSession
    private let clock = ManualClock()

    init() throws {
        child = try ScriptedChild()
        session = ChildSession(
            child.started,
            watch: CallWatch(deadline: .seconds(10), questionDeadline: .seconds(1)),
            now: clock.monotonic,
            handlers: ChildSession.Handlers(
                result: { frame, _ throws(ProtocolError) in
                    if frame.kind == .completed { _ = try OutcomeMessage(reading: frame) }
                },
                question: { frame, _ throws(ProtocolError) in _ = try PresentMessage(reading: frame) },
                isBusy: { false },
                line: { _ in },
                ended: { _, _ in }
            )
        )
        session.start()
    }

    /// Why the session has ended.
    private var end: String? { session.end(within: .seconds(20))?.text([]) }

    private func answer(_ id: UInt64, _ status: carillon_status = .CARILLON_OK) {
        child.say(.answered, id: id) { AnswerMessage.write(status, carillon_str(), to: &$0) }
    }

    @Test func aQuestionIsAnswered() throws {
        child.hello()
        #expect(session.isGreeted(within: .seconds(20)))
        let asked = Mutex<FrameKind?>(nil)
        DispatchQueue.global().async { [child] in
            guard let question = try? child.nextAsked().first else { return }
            asked.withLock { $0 = question.kind }
            child.say(.answered, id: question.id) { AnswerMessage.write(.CARILLON_BUSY, carillon_str(), to: &$0) }
        }
        let answer = session.ask(.destroy, within: .seconds(20)) { InstanceMessage(instance: 1).write(to: &$0) }
        guard case .frame(let frame) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(
            try frame.read { frame throws(ProtocolError) in try AnswerMessage(reading: frame).status } == .CARILLON_BUSY
        )
        #expect(asked.withLock(\.self) == .destroy)
        session.close()
        child.exit(0)
        #expect(end == "exited with status 0")
    }

    @Test func lateResponseIsIgnored() throws {
        let late = session.ask(.destroy, within: .milliseconds(1)) { InstanceMessage(instance: 1).write(to: &$0) }
        guard case .late = late else {
            Issue.record("\(late)")
            return
        }
        answer(try #require(try child.nextAsked().first).id)
        child.hello()
        #expect(session.isGreeted(within: .seconds(20)) && !session.hasEnded)
        session.kill(reason: "enough")
        #expect(end == "enough")
    }

    @Test func questionsEndWithTheProcess() throws {
        DispatchQueue.global().async { [child] in
            _ = try? child.nextAsked()
            child.exit(3)
        }
        let answer = session.ask(.destroy, within: .seconds(20)) { InstanceMessage(instance: 1).write(to: &$0) }
        guard case .ended = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(end == "exited with status 3")
        guard case .unaskable = session.ask(.destroy, within: .seconds(20), { _ in }) else {
            Issue.record("a dead process was asked")
            return
        }
    }

    /// Questions to a filter, with the ids that the process gets to see.
    private func askTogether(_ count: Int, within span: Duration = .seconds(20)) -> [Answer] {
        let frames = (0..<count).map { _ in
            var writer = FrameWriter()
            writer.frame(.destroy, id: 0) { InstanceMessage(instance: 1).write(to: &$0) }
            return writer.take()
        }
        return session.ask(frames, within: span)
    }

    private static func status(of answer: Answer) -> Int32? {
        guard case .frame(let frame) = answer else { return nil }
        return try? frame.read { frame throws(ProtocolError) in try AnswerMessage(reading: frame).status.rawValue }
    }

    @Test func questionsThatGoTogetherAreAnsweredInTheirOrder() {
        DispatchQueue.global().async { [child] in
            guard let questions = try? child.nextAsked() else { return }
            // All came at the same time.
            for (index, question) in questions.enumerated() {
                let status = carillon_status(rawValue: Int32(questions.count == 4 ? index : 4)) ?? .CARILLON_FAILED
                child.say(.answered, id: question.id) { AnswerMessage.write(status, carillon_str(), to: &$0) }
            }
        }
        #expect(askTogether(4).map(Self.status) == [0, 1, 2, 3])
        #expect(askTogether(0).isEmpty)
    }

    @Test func openRequestsEndWithTheProcess() {
        DispatchQueue.global().async { [child] in
            guard let first = try? child.nextAsked().first else { return }
            child.say(.answered, id: first.id) { AnswerMessage.write(.CARILLON_OK, carillon_str(), to: &$0) }
            child.exit(3)
        }
        let answers = askTogether(3)
        #expect(answers.map(Self.status) == [0, nil, nil])
        for answer in answers.dropFirst() {
            guard case .ended = answer else {
                Issue.record("\(answer)")
                return
            }
        }
        guard case .unaskable? = askTogether(1).first else {
            Issue.record("a dead process was asked")
            return
        }
    }

    /// Each question may take its time; the process is busy until it has answered all.
    @Test func missingResponseEndsTheWait() {
        DispatchQueue.global().async { [child] in
            guard let first = try? child.nextAsked().first else { return }
            child.say(.answered, id: first.id) { AnswerMessage.write(.CARILLON_OK, carillon_str(), to: &$0) }
        }
        let answers = askTogether(3, within: .milliseconds(300))
        #expect(Self.status(of: answers[0]) == 0)
        for answer in answers.dropFirst() {
            guard case .late = answer else {
                Issue.record("\(answer)")
                return
            }
        }
        #expect(!session.hasEnded)
    }

    /// A message that the honest program cannot send ends the process.
    @Test(
        arguments: [
            ("an unknown kind", [1, 0, 0, 0, 0xff, 0xff, 0, 0] + [UInt8](repeating: 0, count: 8), true),
            ("garbage", [UInt8](repeating: 0xa5, count: 64), false),
            ("a kind of the router's", [4, 0, 0, 0, 3, 0, 0, 0] + [UInt8](repeating: 0, count: 8), false),
            ("a kind of the other socket", [0, 0, 0, 0, 97, 0, 0, 0] + [UInt8](repeating: 0, count: 8), false),
            ("more than a kind may have", [0, 4, 0, 0, 97, 0, 0, 0] + [UInt8](repeating: 0, count: 8), true),
            ("all lengths at once", [0xff, 0xff, 0xff, 0xff, 98, 0, 0, 0] + [UInt8](repeating: 0, count: 8), true),
            ("less than its fields", [4, 0, 0, 0, 97, 0, 0, 0] + [UInt8](repeating: 0, count: 12), true),
            ("an answer to nothing", [12, 0, 0, 0, 67, 0, 0, 0, 99] + [UInt8](repeating: 0, count: 19), false),
            (
                "another version",
                [12, 0, 0, 0, 64, 0, 0, 0] + [UInt8](repeating: 0, count: 8) + [9] + [UInt8](repeating: 0, count: 11),
                false
            ),
        ] as [(String, [UInt8], Bool)]
    )
    func invalidFrameEndsTheProcess(_ name: String, _ bytes: [UInt8], overDeliveries: Bool) {
        child.send(bytes, overDeliveries: overDeliveries)
        #expect(end?.hasPrefix("was ended, because it ") == true, "\(name): \(end ?? "none")")
    }

    /// A frame that arrives in pieces waits for the rest.
    @Test func framesMayComeInPieces() {
        var writer = FrameWriter()
        writer.frame(.hello, id: 0) { HelloMessage(deliveries: 1, questions: 2).write(to: &$0) }
        for byte in writer.take() { child.send([byte], overDeliveries: false) }
        #expect(session.isGreeted(within: .seconds(20)))
    }

    @Test func aProcessThatHangsUpAndLivesOnIsKilled() async {
        child.hangUp()
        while !session.hasEnded {
            clock.advance(by: .milliseconds(100))
            await Task.yield()
        }
        #expect(end == "closed its connection to the router")
    }

    @Test func childThatDoesNotReadHoldsAtMostTheBacklog() {
        let frame = [UInt8](repeating: 0, count: 1 << 20)
        let taken = (0..<64).prefix { _ in
            if case .sent = session.send(frame, mayRefuse: true) { true } else { false }
        }
        #expect((8...12).contains(taken.count), "\(taken.count) MiB")
        #expect(!session.hasEnded)
        // An answer has a larger limit than a delivery that may wait, but it has one.
        for _ in 0..<70 { _ = session.send(frame) }
        #expect(end == "was ended, because it does not read its input")
    }

    @Test func frameSoonAfterAnotherLingers() throws {
        func frame(_ id: UInt64) -> [UInt8] {
            var writer = FrameWriter()
            writer.frame(.cancel, id: id) { InstanceMessage(instance: 1).write(to: &$0) }
            return writer.take()
        }
        for id: UInt64 in 1...8 {
            _ = session.send(frame(id))
            #expect(try child.nextDeliveries().map(\.id) == [id])
        }
        for id: UInt64 in 9...11 { _ = session.send(frame(id)) }
        clock.advance(by: .milliseconds(1))
        #expect(try child.nextDeliveries().map(\.id) == [9, 10, 11])
    }

    @Test func aCallThatHangsIsAbortedAndThenKilled() async throws {
        let asking = Task.detached { [session] in
            session.ask(.validate, within: .seconds(20)) { $0.number(UInt32(1)) }
        }
        // A busy process is pinged immediately. Question and ping may come in one read, in either order.
        var kinds: [FrameKind] = []
        while !kinds.contains(.validate) || !kinds.contains(.ping) {
            let next = try child.nextQuestions().map(\.kind)
            try #require(!next.isEmpty, "only \(kinds) came")
            kinds += next
        }
        let idle = PongMessage.Call(thread: 1, kind: 0, id: 0, milliseconds: 0)
        let call = PongMessage.Call(thread: 2, kind: UInt32(FrameKind.validate.rawValue), id: 1, milliseconds: 1_001)
        child.say(.pong, id: 0) { PongMessage(deliveries: idle, questions: call).write(to: &$0) }
        while !session.hasEnded {
            clock.advance(by: .milliseconds(100))
            await Task.yield()
        }
        #expect(child.aborted == [2])
        #expect(end == "did not return from validate within 1 s")
        guard case .ended = await asking.value else {
            Issue.record("the question is open")
            return
        }
    }
}
