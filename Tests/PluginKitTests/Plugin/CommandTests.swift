import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

/// Commands and their results through the ABI.
struct CommandTests {
    /// The return value of `command`, and its answer.
    private struct Course: Equatable {
        let status: carillon_status
        let answers: [String]

        init(_ status: carillon_status, _ answers: [String]) { (self.status, self.answers) = (status, answers) }
    }

    private func run(_ words: [String]?, on host: FakeHost = FakeHost()) throws -> Course {
        let transport = try #require(echoPlugin.pointee.transports?[0]).pointee
        let arena = ABIArena()
        var instance: UnsafeMutableRawPointer?
        #expect(transport.create(host.pointer, arena.text(#"{"behaviour":""}"#), &instance, nil) == .CARILLON_OK)
        let made = try #require(instance)
        let answers = Heard<String>()
        let texts = (words ?? []).map { arena.text($0) }
        let status = withExtendedLifetime((arena, answers)) {
            transport.command(
                made,
                arena.array(texts),
                words?.count ?? 3,
                { context, status, answer in
                    guard let context else { return }
                    Unmanaged<Heard<String>>.fromOpaque(context).takeUnretainedValue()
                        .add("\(status.rawValue) \(FakeHost.text(answer))")
                },
                Unmanaged.passUnretained(answers).toOpaque()
            )
        }
        transport.destroy(made)
        return Course(status, answers.all)
    }

    @Test(arguments: [
        (["answer", "a", "ä"], ["0 answer|a|ä"]), (["answer", "badly"], ["4 answer|badly"]),
        (["answer twice"], ["0 answer twice"]), (["answer and refuse"], ["0 answer and refuse"]),
        (["lose"], ["4 the transport did not respond"]),
    ])
    func acceptedCommandIsAnsweredOnce(_ words: [String], _ answers: [String]) throws {
        #expect(try run(words) == Course(.CARILLON_OK, answers))
    }

    @Test func refusedCommandIsNotAnswered() throws {
        #expect(try run(["refuse"]) == Course(.CARILLON_BUSY, []))
        #expect(try run(["nonsense"]) == Course(.CARILLON_UNSUPPORTED, []))
        #expect(try run([]) == Course(.CARILLON_UNSUPPORTED, []))
        // No words where some were announced.
        #expect(try run(nil) == Course(.CARILLON_INVALID, []))
    }

    @Test func aCertificateGoesToTheHost() throws {
        let host = FakeHost()
        #expect(try run(["present"], on: host) == Course(.CARILLON_OK, ["0 present"]))
        #expect(host.presented.map(\.connection) == ["word"])
        #expect(host.presented.map(\.certificates) == ["certificates"])
        #expect(host.presented.map(\.key) == ["key"])
    }

    @Test func missingHostServiceIsNamed() throws {
        let course = try run(["present"], on: FakeHost(hasServices: false))
        #expect(
            course.answers == [
                "4 the router does not have carillon.client-certificate/1: expected a version with this service"
            ]
        )
    }
}
