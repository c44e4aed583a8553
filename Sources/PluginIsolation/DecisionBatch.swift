import CarillonABI
import PluginProtocol

/// Questions to a filter in a process of its own that go there together, so that all of them take one round trip.
///
/// The process answers them one after the other. The first that it does not answer is the suspect when the process dies
/// or hangs: it cannot be decided. Those behind it are asked again one by one, up to a second death.
package struct DecisionBatch {
    /// The answer to a question.
    package struct Decision: Sendable {
        fileprivate let session: ChildSession?
        fileprivate let answer: Answer

        /// The filter's verdict; `set` receives what it sets, in order. A status that is not OK: it could not decide.
        package func read(
            _ verdict: inout carillon_verdict,
            set: (carillon_str, carillon_bytes) -> Void
        ) -> carillon_status {
            guard case .frame(let frame) = answer else { return .CARILLON_FAILED }
            do throws(ProtocolError) {
                return try frame.read { frame throws(ProtocolError) in
                    guard frame.kind == .decided else { throw .unexpected(frame.kind) }
                    let decided = try DecidedMessage(reading: frame)
                    for edit in decided.edits { set(edit.name, edit.value) }
                    verdict = decided.verdict
                    return decided.status
                }
            } catch {
                session?.kill(reason: "was ended, because \(error)")
                return .CARILLON_FAILED
            }
        }
    }

    private static let most = 64
    private static let mostBytes = 1 << 20

    private let number: UInt32
    private let instance: IsolatedInstance
    /// What asks each question; nil: it is longer than it may be.
    private var frames: [[UInt8]?] = []
    private var bytes = 0

    init(_ number: UInt32, _ instance: IsolatedInstance) {
        self.number = number
        self.instance = instance
    }

    /// Whether further questions belong into another batch.
    package var isFull: Bool { frames.count >= Self.most || bytes >= Self.mostBytes }

    /// Adds a question. What `call` points to is not needed afterwards.
    package mutating func add(_ call: carillon_filter_call) {
        var writer = FrameWriter(reserving: 1024 + max(0, call.event.len))
        let fits = writer.frame(.decide, id: 0) { DecideMessage.write(instance: number, call, to: &$0) }
        frames.append(fits ? writer.take() : nil)
        bytes += frames.last??.count ?? 0
    }

    /// Asks the questions, and waits for the answers: one to each, in order. Without a process nothing is decided: the
    /// pipeline waits.
    package func ask() -> [Decision] {
        var decisions = frames.map { _ in Decision(session: nil, answer: .unaskable) }
        let asked = frames.indices.filter { frames[$0] != nil }
        guard let session = instance.supervisor.session else { return decisions }
        let span = instance.supervisor.settings.questionDeadline
        let answers = session.ask(asked.compactMap { frames[$0] }, within: span)
        for (index, answer) in zip(asked, answers) { decisions[index] = Decision(session: session, answer: answer) }
        guard let suspect = answers.firstIndex(where: { !$0.isFrame }) else { return decisions }
        switch answers[suspect] {
        case .ended, .crashed: break
        // The watch ends a process that hangs.
        case .late: _ = session.end(within: span)
        case .frame, .unaskable: return decisions
        }
        for index in asked[asked.index(after: suspect)...] {
            guard let frame = frames[index], let session = instance.supervisor.readySession(within: span) else { break }
            let answer = session.ask([frame], within: span).first ?? .unaskable
            decisions[index] = Decision(session: session, answer: answer)
            guard answer.isFrame else { break }
        }
        return decisions
    }
}

extension Answer {
    fileprivate var isFrame: Bool { if case .frame = self { true } else { false } }
}
