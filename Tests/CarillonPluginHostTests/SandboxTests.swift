import CIsolation
import CarillonABI
import CommandTestSupport
import Foundation
import PluginProtocol
import Testing

/// The resources that plugins can reach, as far as the kernel can restrict them.
@Suite struct SandboxTests {
    private static let isComplete = UInt32(CARILLON_CONFINED_FILES | CARILLON_CONFINED_CALLS)

    @Test func constructorsAreConfined() throws {
        let child = try Child()
        let descriptor = try child.load(Guest.library("HOSTILE"))
        try #require(descriptor.confinement == Self.isComplete, "the kernel has neither Landlock nor seccomp")
        // EACCES by Landlock, EPERM for calls that are not in the list.
        #expect(descriptor.version == "read 13 write 1 socket 1 exec 1 kill 1")
    }

    @Test func runningPluginsAreConfined() throws {
        let child = try Child.guest()
        child.deliver(1, "outside")
        // ENOENT for files.
        #expect(
            try child.result(.log).read { text(try LogMessage(reading: $0).text) }
                == "read 2 write 2 socket 1 exec 1 kill 1"
        )
        #expect(try child.completed() == (1, "no-code"))
    }

    /// Compares the table of `contrib/docs/sandbox.md` with the kernel, for each number and each row.
    @Test(arguments: [("loading", 1), ("running", 2)])
    func everySystemCallFollowsTheTable(_ stage: String, _ column: Int) throws {
        let rows = try Guest.tableOfCalls()
        #expect(rows.count > 200)
        let found = try Guest.tryCalls(stage, rows.map { $0[0] } + ["numbers"])
        let results = found.prefix(rows.count)
        try #require(results.map { $0[0] } == rows.map { $0[0] })
        for (row, result) in zip(rows, results) where result[1] != "absent" {
            #expect(result[1] == row[column], "\(row[0]), while \(stage)")
        }
        // Each number that does not fail with EPERM has a row with its name.
        let named = Set(rows.compactMap { $0[0].split(separator: " ").first.map(String.init) })
        let others = found.dropFirst(rows.count).map { $0[0] }
        #expect(others.count > 60)
        #expect(others.filter { !named.contains($0) } == [])
    }

    #if arch(x86_64)
    @Test(arguments: ["loading", "running"])
    func callsOfAnotherArchitectureEndTheProcess(_ stage: String) throws {
        #expect(throws: Guest.Ended(signal: SIGSYS)) { try Guest.tryCalls(stage, ["x32"]) }
    }
    #endif

    @Test func unconfinedPluginsHaveTheUsersRights() throws {
        let child = try Child()
        let descriptor = try child.load(Guest.library("HOSTILE"), isSandboxed: false)
        #expect(descriptor.confinement == 0)
        #expect(descriptor.version.hasPrefix("read 0"))
    }

    @Test func rightsGoInTwoSteps() throws {
        let child = try Child()
        let libraries = try [Guest.library("HOSTILE"), Guest.library()]
        #expect(try child.load(libraries[0], among: libraries, isLast: false).confinement == Self.isComplete)
        #expect(try child.load(libraries[1], among: libraries).confinement == Self.isComplete)
    }

    @Test func memoryIsLimited() throws {
        let child = try Child.guest()
        child.deliver(1, "memory")
        #expect(try child.completed() == (1, "no-memory"))
    }

    /// Dispatch ends the process if it cannot open `/proc/<thread>/stat`.
    @Test(arguments: [true, false])
    func dispatchWorks(_ isSandboxed: Bool) throws {
        let child = try Child()
        _ = try child.load(Guest.dispatchLibrary(), isSandboxed: isSandboxed)
        _ = try child.create(1)
        for ticket in 1...100 { child.deliver(UInt64(ticket), "dispatch") }
        let reasons = (1...100).map { _ in (try? child.completed().reason) ?? "nothing" }
        #expect(Set(reasons) == ["dispatch"])
        child.closeQuestions()
        #expect(child.end() == (0, 0))
        #expect(child.errorText() == "")
    }

    // MARK: Plugins that come with Carillon

    private func request(_ child: Child, _ ticket: UInt64) throws -> Child.Received {
        while true {
            let received = try child.result()
            guard received.kind == .log else {
                try #require(received.kind == .request)
                return received
            }
        }
    }

    /// Returns a process with the built library and an instance 1 of its first component.
    private func child(_ name: String, _ table: CreateMessage.Table, _ configuration: String) throws -> Child {
        let child = try Child()
        _ = try child.load(Guest.built("libCarillon\(name).so"))
        let answer = try child.create(1, configuration, table: table)
        try #require(answer.status == .CARILLON_OK, "\(answer.text)")
        return child
    }

    private func delivers(_ name: String, _ configuration: String, to device: Device) throws {
        let child = try child(name, .transport, configuration)
        child.deliver(1, "Title", to: device)
        let request = try request(child, 1)
        #expect(try request.read { try RequestMessage(reading: $0).ticket } == 1)
        child.send { $0.respond(request.id, status: name == "WebPush" ? 201 : 200, "{}") }
        #expect(try child.completed() == (1, "delivered"))
    }

    private static let key = Result { try EllipticKey() }

    @Test func apnsDelivers() throws {
        let configuration = try Self.key.get().json([
            "topic": "com.example.app", "key_id": "ABCDEFGHIJ", "team_id": "ABCDEFGHIJ",
        ])
        let token = String(repeating: "ab", count: 32)
        try delivers("APNs", configuration("key"), to: Device(token: token))
    }

    @Test(arguments: ["WebPush", "UnifiedPush"])
    func webPushDelivers(_ name: String) throws {
        let key = try Self.key.get()
        let configuration = key.json(["subject": "mailto:operator@example.org"])
        let device = Device(
            token: "https://push.example.org/x",
            fields: ["p256dh": key.point, "auth": "AAAAAAAAAAAAAAAAAAAAAA"]
        )
        try delivers(name, configuration("vapid_key"), to: device)
    }

    @Test func ntfyAndGotifyDeliver() throws {
        try delivers("Ntfy", "{}", to: Device(token: "https://ntfy.example.org/topic"))
        try delivers("Gotify", "{}", to: Device(token: "https://gotify.example.org/message?token=ABC"))
    }

    @Test(arguments: [("Mutes", "{}"), ("Noise", "{}"), ("WebOfTrust", "{\"level\":\"follows\"}")])
    func filtersDecide(_ name: String, _ configuration: String) throws {
        let child = try child(name, .filter, configuration)
        let (author, recipient) = (String(repeating: "b", count: 64), String(repeating: "d", count: 64))
        let event = """
            {"id":"\(author)","pubkey":"\(author)","created_at":1700000000,"kind":1,"tags":[],"content":"hi",\
            "sig":"\(author)\(author)"}
            """
        child.ask(.decide, id: 9) { writer in
            withCStrings([event, recipient, author, "mention"]) { texts in
                var call = carillon_filter_call()
                call.event = texts[0]
                call.recipient = texts[1]
                call.author = texts[2]
                call.signal = texts[3]
                call.now_unix_ms = 1_700_000_000_000
                call.follow_distance = .CARILLON_DISTANCE_FOLLOWED
                DecideMessage.write(instance: 1, call, to: &writer)
            }
        }
        let decision = try child.answer(.decided).read { try DecidedMessage(reading: $0).status }
        #expect(decision == .CARILLON_OK)
    }
}

/// A key on P-256 as operators write it, and its public half in the form that browsers use.
private struct EllipticKey: Sendable {
    private let pem: String
    let point: String

    init() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "key-\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        let arguments = ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-out", file.path]
        let made = try CommandRun("openssl", arguments)
        try #require(made.status == 0, "\(made.output)")
        pem = try String(contentsOf: file, encoding: .utf8)
        let shown = try CommandRun("openssl", ["pkey", "-in", file.path, "-pubout"])
        let base64 = shown.output.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
        let encoded = try #require(Data(base64Encoded: base64))
        point = Data(encoded.suffix(65)).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Returns a configuration with these values; the caller adds the key's name.
    func json(_ texts: [String: String]) -> (String) -> String {
        { name in
            var texts = texts
            texts[name] = pem
            let data = try? JSONSerialization.data(withJSONObject: texts)
            return String(decoding: data ?? Data(), as: UTF8.self)
        }
    }
}
