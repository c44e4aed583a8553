import CarillonLab
import Testing

struct GotifyTests {
    private static let token = GotifyApplication().token

    private func start(_ change: (inout LabConfiguration) -> Void = { _ in }) async throws -> (Lab, String) {
        let lab = try await Lab.atRest(change)
        #expect(lab.addresses.gotify?.token == Self.token)
        return (lab, try #require(lab.addresses.gotify?.url) + "/message")
    }

    private func json(_ body: String, _ more: String...) -> [String] {
        ["-H", "Content-Type: application/json", "-H", "X-Gotify-Key: \(Self.token)", "-d", body] + more
    }

    @Test func messagesComeAsJSONAndAsForms() async throws {
        let (lab, url) = try await start()
        let extras = #"{"client::display":{"contentType":"text/markdown"}}"#
        let answers = try await Curl.run([
            [url] + json(#"{"message":"m","title":"t","priority":8,"extras":\#(extras)}"#),
            [url] + json(#"{"message":"m"}"#),
            [url, "-H", "Authorization: Bearer \(Self.token)", "-d", "message=a+b&priority=1"],
            [url + "?token=\(Self.token)", "-d", "message=c"],
        ])
        #expect(answers.map(\.status) == [200, 200, 200, 200])
        #expect(answers.map { $0.json["id"] as? Int } == [1, 2, 3, 4])
        #expect(answers.map { $0.json["title"] as? String } == ["t", "Carillon", "Carillon", "Carillon"])
        #expect(answers.map { $0.json["priority"] as? Int } == [8, 5, 1, 5])
        #expect(answers[2].json["message"] as? String == "a b")
        #expect(answers[0].json["date"] as? String == "2027-01-15T08:00:00Z")
        let received = lab.received
        #expect(received.map(\.target) == Array(repeating: Self.token, count: 4))
        #expect(received[0].message?["extras"] == JSONValue(parsing: Array(extras.utf8)))
        #expect(received.allSatisfy { $0.detail == nil && $0.service == .gotify })
        await lab.shutdown()
    }

    @Test func invalidRequestsGetErrorsInGotifysForm() async throws {
        let (lab, url) = try await start()
        let table: [([String], Int, String)] = [
            ([url, "-d", "message=x"], 401, "Unauthorized"),
            ([url + "?token=Awrong", "-d", "message=x"], 401, "Unauthorized"),
            ([url] + json("{}"), 400, "Bad Request"), ([url] + json("["), 400, "Bad Request"),
            ([url] + json(#"{"message":7}"#), 400, "Bad Request"),
            ([url] + json(#"{"message":"m","priority":"high"}"#), 400, "Bad Request"),
            ([url] + json(#"{"message":"m","extras":[]}"#), 400, "Bad Request"),
            ([url + "?token=\(Self.token)", "-d", "message=x&priority=y"], 400, "Bad Request"),
            ([url + "s"] + json(#"{"message":"m"}"#), 404, "Not Found"), ([url], 404, "Not Found"),
        ]
        let answers = try await Curl.run(table.map(\.0))
        #expect(answers.map(\.status) == table.map(\.1))
        #expect(answers.map { $0.json["error"] as? String } == table.map(\.2))
        #expect(answers.map { $0.json["errorCode"] as? Int } == table.map(\.1))
        #expect(answers.allSatisfy { ($0.json["errorDescription"] as? String)?.isEmpty == false })
        await lab.shutdown()
    }

    @Test(
        arguments: [
            (#"{"plain":1}"#, "top::action"), (#"{"client::display":1}"#, "not an object"),
            (#"{"client::display":{"contentType":"text/html"}}"#, "contentType"),
            (#"{"client::notification":{"click":{}}}"#, "click"), (#"{"myapp::thing":1}"#, nil),
        ] as [(String, String?)]
    )
    func unknownExtrasAreAcceptedAndReported(_ extras: String, _ words: String?) async throws {
        let (lab, url) = try await start()
        #expect(try await Curl.run([[url] + json(#"{"message":"m","extras":\#(extras)}"#)])[0].status == 200)
        let detail = try await lab.next().detail
        if let words {
            #expect(detail?.contains(words) == true)
        } else {
            #expect(detail == nil)
        }
        await lab.shutdown()
    }

    @Test func applicationsComeAndGo() async throws {
        let (lab, url) = try await start { $0.controlPort = 0 }
        let request = [url] + json(#"{"message":"m"}"#)
        lab.revoke(gotifyToken: Self.token)
        #expect(try await Curl.run([request])[0].status == 401)
        lab.declare(GotifyApplication())
        #expect(try await Curl.run([request])[0].status == 200)
        let control = try #require(lab.addresses.control)
        let gone = #"{"service":"gotify","token":"\#(Self.token)","state":"unregistered"}"#
        #expect(try await Curl.run(control + "/tokens", "-d", gone).status == 200)
        #expect(try await Curl.run([request])[0].status == 401)
        await lab.shutdown()
    }

    @Test func misbehaviourUsesGotifysErrors() async throws {
        let (lab, url) = try await start {
            $0.misbehaviours = [
                ScriptedBehavior(.answer(status: 403), service: .gotify),
                ScriptedBehavior(.answer(status: 503, retryAfter: 4)),
                ScriptedBehavior(.answer(status: 500, reason: "database is locked"), target: Self.token),
            ]
        }
        let answers = try await Curl.run(Array(repeating: [url] + json(#"{"message":"m"}"#), count: 3))
        #expect(answers.map(\.status) == [403, 503, 500])
        #expect(
            answers.map { $0.json["error"] as? String } == [
                "Forbidden", "Service Unavailable", "Internal Server Error",
            ]
        )
        #expect(answers[1].headers["retry-after"] == "4")
        #expect(answers[2].json["errorDescription"] as? String == "database is locked")
        await lab.shutdown()
    }
}
