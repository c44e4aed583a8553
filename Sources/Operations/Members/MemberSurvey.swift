import Console
import Core
import Foundation
import Nostr
import Synchronization

/// The other routers of the cluster. An operator can ask any member, which asks the others.
package protocol Peers: LivePeers {
    func ask(_ question: [UInt8], of member: String, within span: Duration) async -> PeerReply

    /// Whether this member owns the partition of an account.
    func owns(_ account: PublicKey) -> Bool
}

/// The result of asking another member.
package enum PeerReply: Sendable, Hashable {
    case answer([UInt8])
    /// The member sent no answer.
    case silence(MemberSilence)
}

/// Why a member's answer is missing.
package enum MemberSilence: Sendable, Hashable {
    case absent
    case late
    /// The question could not be sent, for the given reason.
    case unasked(String)
    case otherVersion

    /// The codes that ``sentence(of:)`` can have.
    static let codes: Set = ["member-absent", "member-late", "member-unasked", "member-version"]

    /// Returns the reason; its message continues a sentence that starts with the member's name.
    func sentence(of member: String) -> Sentence {
        switch self {
        case .absent: Sentence("member-absent", ["member": member], "is not connected")
        case .late: Sentence("member-late", ["member": member], "does not answer in time")
        case .unasked(let why):
            Sentence("member-unasked", ["member": member, "detail": why], "cannot be asked: \(why)")
        case .otherVersion: Sentence("member-version", ["member": member], "responds in the format of another version")
        }
    }

    /// Returns the reason as the error of a failed request.
    func failure(of member: String) -> OperationError {
        let sentence = sentence(of: member)
        return .unavailable(Sentence(sentence.says.code, sentence.says.values, "\(member) \(sentence.words)"))
    }
}

/// The wire format of an answer: one byte (0 for a result, 1 for an error), then the JSON.
enum MemberAnswer {
    /// The NATS default limit is 1 MiB.
    static let longest = 900_000

    /// The error of a request that a member rejected.
    private struct ErrorResponse: Codable {
        var kind: String
        var words: String
        /// `nil` from members of earlier versions.
        var says: Statement?
    }

    static func bytes(_ answer: some Encodable) -> [UInt8] {
        let bytes = [0] + MemberJSON.bytes(answer)
        guard bytes.count <= longest else { return refusal(.unavailable("has more data than one answer can hold")) }
        return bytes
    }

    static func refusal(_ failure: OperationError) -> [UInt8] {
        let kind =
            switch failure.kind {
            case .invalid: "invalid"
            case .unknown: "unknown"
            case .unavailable, .unreachable: "unavailable"
            }
        return [1] + MemberJSON.bytes(ErrorResponse(kind: kind, words: failure.description, says: failure.says))
    }

    /// Throws the ``OperationError`` that the member sent. Returns `nil` for invalid bytes, which may come from any
    /// source.
    static func read<Answer: Decodable>(_ bytes: [UInt8], as type: Answer.Type) throws(OperationError) -> Answer? {
        switch bytes.first {
        case 0: return MemberJSON.read(bytes.dropFirst(), as: Answer.self)
        case 1:
            guard let refusal = MemberJSON.read(bytes.dropFirst(), as: ErrorResponse.self) else { return nil }
            let kind: OperationError.Kind =
                switch refusal.kind {
                case "invalid": .invalid
                case "unknown": .unknown
                default: .unavailable
                }
            throw OperationError(kind: kind, description: refusal.words, says: refusal.says)
        default: return nil
        }
    }
}

/// Asks all members at the same time and collects their answers. Each question is declared here by name, and each
/// member answers it for itself.
package final class MemberSurvey: Sendable {
    /// The timeout for questions that only read.
    package static let timeout: Duration = .seconds(3)
    /// The timeout for questions that change data, which must be written to disk.
    static let changeTimeout: Duration = .seconds(30)

    package struct Result<Answer: Sendable>: Sendable {
        /// Sorted by the members' names, never empty. Without a cluster, only this router's answer.
        package var answers: [(member: String, answer: Answer)]
        /// `nil` without a cluster.
        package var asked: MembersAsked?
    }

    private struct Question: Decodable {
        var question: String
    }

    private static let noAnswer = Sentence("members-silent", [:], "no member of the cluster responds")
    fileprivate static let unknownQuestion = OperationError.unavailable(
        Sentence("unknown-question", [:], "this member's version does not know the question")
    )

    /// `nil` without a cluster.
    package let peers: (any Peers)?
    private let answering = Mutex<[String: @Sendable ([UInt8]) async throws -> [UInt8]]>([:])

    package init(peers: (any Peers)?) { self.peers = peers }

    /// Declares a question. `here` computes this member's answer, for itself and for other members.
    package func question<Parameters: Codable & Sendable, Answer: Codable & Sendable>(
        _ name: String,
        here: @escaping @Sendable (Parameters) async throws -> Answer
    ) -> MemberQuestion<Parameters, Answer> {
        answering.withLock { answering in
            answering[name] = { bytes in
                guard let question = MemberJSON.read(bytes, as: MemberQuestion<Parameters, Answer>.Wire.self) else {
                    throw Self.unknownQuestion
                }
                return MemberAnswer.bytes(try await here(question.of))
            }
        }
        return MemberQuestion(name: name, survey: self, here: here)
    }

    /// Answers another member's question. `bytes` is untrusted.
    package func answer(_ bytes: [UInt8]) async -> [UInt8] {
        do {
            guard let name = MemberJSON.read(bytes, as: Question.self)?.question,
                let answer = answering.withLock({ $0[name] })
            else { throw Self.unknownQuestion }
            return try await answer(bytes)
        } catch let failure as OperationError {
            return MemberAnswer.refusal(failure)
        } catch {
            return MemberAnswer.refusal(.unavailable("\(error)"))
        }
    }

    fileprivate func ask<Answer: Codable & Sendable>(
        _ question: [UInt8],
        within span: Duration,
        here: @escaping @Sendable () async throws -> Answer
    ) async throws -> Result<Answer> {
        guard let peers else { return Result(answers: [("", try await here())]) }
        async let replies = Self.replies(to: question, from: peers, within: span)
        var result = Result<Answer>(answers: [])
        var silent: [MembersAsked.Silent] = []
        var refusal: OperationError?
        do {
            result.answers.append((peers.name, try await here()))
        } catch let failure as OperationError where failure.kind != .invalid {
            refusal = failure
            silent.append(MembersAsked.Silent(peers.name, failure))
        }
        for (member, reply) in await replies {
            switch reply {
            case .silence(let why): silent.append(MembersAsked.Silent(member, why))
            case .answer(let bytes):
                do throws(OperationError) {
                    if let answer = try MemberAnswer.read(bytes, as: Answer.self) {
                        result.answers.append((member, answer))
                    } else {
                        silent.append(MembersAsked.Silent(member, .otherVersion))
                    }
                } catch {
                    refusal = refusal ?? error
                    silent.append(MembersAsked.Silent(member, error))
                }
            }
        }
        guard !result.answers.isEmpty else { throw refusal ?? .unavailable(Self.noAnswer) }
        result.answers.sort { $0.member < $1.member }
        result.asked = MembersAsked(answered: result.answers.map(\.member), silent: silent)
        return result
    }

    private static func replies(
        to question: [UInt8],
        from peers: any Peers,
        within span: Duration
    ) async -> [(String, PeerReply)] {
        await withTaskGroup(of: (String, PeerReply).self) { group in
            for member in peers.others {
                group.addTask { (member, await peers.ask(question, of: member, within: span)) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}

/// A question that every member answers for its own data.
package struct MemberQuestion<Parameters: Codable & Sendable, Answer: Codable & Sendable>: Sendable {
    /// The wire format of a question.
    fileprivate struct Wire: Codable {
        var question: String
        var of: Parameters
    }

    fileprivate let name: String
    fileprivate let survey: MemberSurvey
    /// Computes this member's answer.
    let here: @Sendable (Parameters) async throws -> Answer

    private func bytes(_ parameters: Parameters) -> [UInt8] {
        MemberJSON.bytes(Wire(question: name, of: parameters))
    }

    /// Returns the answers of all members. A member that fails counts as missing, with its error message. Throws an
    /// ``OperationError`` if this member rejects the question or no member answers it.
    package func ask(
        _ parameters: Parameters,
        within span: Duration = MemberSurvey.timeout
    ) async throws -> MemberSurvey.Result<Answer> {
        try await survey.ask(bytes(parameters), within: span) { [here] in try await here(parameters) }
    }

    /// Returns the answer of one other member. Throws an ``OperationError`` if it fails or does not respond.
    package func ask(_ parameters: Parameters, of member: String) async throws(OperationError) -> Answer {
        switch await survey.peers?.ask(bytes(parameters), of: member, within: MemberSurvey.timeout) {
        case .silence(let why)?: throw why.failure(of: member)
        case .answer(let bytes)?:
            guard let answer = try MemberAnswer.read(bytes, as: Answer.self) else {
                throw MemberSilence.otherVersion.failure(of: member)
            }
            return answer
        case nil: throw MemberSilence.absent.failure(of: member)
        }
    }
}

/// An answer that can be joined from the members' answers.
protocol JoinedAnswer: Codable, Sendable {
    /// Joins `answers`, which is never empty and sorted by the members' names.
    static func joined(_ answers: [(member: String, answer: Self)], _ asked: MembersAsked) -> Self
}

extension MemberQuestion where Answer: JoinedAnswer {
    /// Returns the joined answer of all members, or this router's answer without a cluster.
    func whole(_ parameters: Parameters, within span: Duration = MemberSurvey.timeout) async throws -> Answer {
        let result = try await ask(parameters, within: span)
        guard let asked = result.asked else { return result.answers[0].answer }
        return .joined(result.answers, asked)
    }
}

/// The parameters of a question without parameters.
package struct NoParameters: Codable, Sendable {
    package init() {}
}

/// The JSON encoding of messages between members.
enum MemberJSON {
    static func bytes(_ value: some Encodable) -> [UInt8] {
        // Encoding fails only for non-finite numbers, which no message contains.
        (try? JSONEncoder().encode(value)).map(Array.init) ?? []
    }

    /// Returns `nil` for invalid bytes, which may come from any source.
    static func read<Value: Decodable>(_ bytes: some Collection<UInt8>, as type: Value.Type) -> Value? {
        try? JSONDecoder().decode(Value.self, from: Data(bytes))
    }
}

/// The members that an answer covers, and those that are missing.
package struct MembersAsked: Codable, Sendable, Equatable {
    package struct Silent: Codable, Sendable, Equatable {
        package var name: String
        /// Why the member's part is missing, in a sentence.
        package var reason: String
        /// The same with code and values, from the member if it sent an error. `nil` if only the message exists.
        package var says: Statement?

        package init(_ name: String, _ silence: MemberSilence) {
            let sentence = silence.sentence(of: name)
            (self.name, reason, says) = (name, sentence.words, sentence.says)
        }

        /// A member that answered with an error.
        init(_ name: String, _ refusal: OperationError) {
            (self.name, reason, says) = (name, "says: \(refusal)", refusal.says)
        }
    }

    /// Sorted by name.
    package var answered: [String]
    /// Members whose data is missing.
    package var silent: [Silent]

    package init(answered: [String], silent: [Silent]) {
        (self.answered, self.silent) = (answered.sorted(), silent.sorted { $0.name < $1.name })
    }

    /// Joins the results of two questions that form one answer.
    func and(_ other: MembersAsked?) -> MembersAsked {
        guard let other else { return self }
        let silent = silent + other.silent.filter { silent in !self.silent.contains { $0.name == silent.name } }
        let names = Set(silent.map(\.name))
        return MembersAsked(answered: answered.filter { !names.contains($0) }, silent: silent)
    }

    /// A line for each missing member.
    package var lines: [String] { silent.map { "\($0.name) \($0.reason): its data is missing here" } }
}
