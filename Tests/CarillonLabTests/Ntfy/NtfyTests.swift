import CarillonLab
import Foundation
import Testing

/// ntfy's own API, for people without an app.
struct NtfyTests {
    private func start(_ change: (inout LabConfiguration) -> Void = { _ in }) async throws -> (Lab, String) {
        let lab = try await Lab.atRest(change)
        return (lab, try #require(lab.addresses.ntfy?.url))
    }

    private func headers(_ pairs: String...) -> [String] { pairs.flatMap { ["-H", $0] } }

    @Test func headersAndJSONMakeTheSameMessage() async throws {
        let (lab, url) = try await start()
        let actions = #"[{"action":"view","label":"Open","url":"https://example.com/?a=1,2"}]"#
        let byHeaders =
            [url + "/news", "-d", " hello "]
            + headers(
                "Title: =?UTF-8?B?w6k=?= =?utf-8?Q?t=C3=A9_1?=",
                "Prio: high",
                "Tags: tada, warning",
                "Click: https://example.com",
                "X-Icon: https://example.com/i.png",
                #"Actions: view, Open, "https://example.com/?a=1,2""#,
                "Markdown: yes"
            )
        let json = """
            {"topic":"news","message":"hello","title":"ééé 1","priority":4,"tags":["tada","warning"],"markdown":true,\
            "click":"https://example.com","icon":"https://example.com/i.png","actions":\(actions)}
            """.replacing("ééé", with: "été")
        let answers = try await Curl.run([byHeaders, [url + "/", "-d", json]])
        #expect(answers.map(\.status) == [200, 200])
        let members = answers.map { JSONValue(parsing: Array($0.body.utf8))?.object ?? [:] }
        let same = members.map { $0.filter { $0.key != "id" } }
        #expect(same[0] == same[1])
        #expect(members[0]["title"] == .string("été 1"))
        #expect(members[0]["message"] == .string("hello"))
        #expect(members[0]["priority"] == .integer(4))
        #expect(members[0]["actions"] == JSONValue(parsing: Array(actions.utf8)))
        #expect(members[0]["content_type"] == .string("text/markdown"))
        #expect(members[0]["expires"] == .integer(1_800_043_200))
        let received = lab.received
        #expect(received.map(\.service) == [.ntfy, .ntfy])
        #expect(received.map(\.target) == ["news", "news"])
        #expect(received[0].message?["title"] == .string("été 1"))
        await lab.shutdown()
    }

    @Test func messagesComeByGETAndFromTheQueryToo() async throws {
        let (lab, url) = try await start()
        let answers = try await Curl.run([
            [url + "/news/publish?message=a%5Cnb&title=t&p=5"], [url + "/news?m=x", "-X", "PUT"],
            [url + "/news", "-d", ""],
            [url + "/up0123456789ab?up=1"], [url + "/v1/health"],
        ])
        #expect(answers.map { $0.json["message"] as? String } == ["a\nb", "x", "triggered", nil, nil])
        #expect(answers[0].json["priority"] as? Int == 5)
        #expect(answers[3].body == #"{"unifiedpush":{"version":1}}"# + "\n")
        #expect(answers[4].body == #"{"healthy":true}"# + "\n")
        #expect(lab.received.count == 3)
        await lab.shutdown()
    }

    @Test func invalidRequestsGetNtfysErrorCodes() async throws {
        let (lab, url) = try await start()
        let long = String(repeating: "x", count: 4_097)
        let table: [([String], Int, Int)] = [
            ([url + "/news", "-H", "Priority: 7", "-d", "x"], 400, 40007),
            ([url + "/news", "-H", "Icon: ftp://x", "-d", "x"], 400, 40021),
            ([url + "/news", "-H", "Actions: dance, Label", "-d", "x"], 400, 40018),
            ([url + "/news", "-H", "Delay: soon", "-d", "x"], 400, 40004),
            ([url + "/news", "-H", "Delay: 5s", "-d", "x"], 400, 40005),
            ([url + "/news", "-H", "Delay: 4d", "-d", "x"], 400, 40006),
            ([url + "/", "-d", "{"], 400, 40017), ([url + "/", "-d", #"{"topic":"news","tags":"x"}"#], 400, 40017),
            ([url + "/", "-d", #"{"message":"x"}"#], 400, 40009),
            ([url + "/", "-d", #"{"topic":"docs"}"#], 400, 40010),
            ([url + "/", "-d", #"{"topic":"news","message":"\#(long)"}"#], 413, 41301),
            ([url + "/", "-d", #"{"topic":"news","message":"\#(long + long)"}"#], 413, 41303),
            ([url + "/news", "-d", long], 413, 41301), ([url + "/news", "-X", "DELETE"], 404, 40401),
            ([url + "/news/json"], 404, 40401),
        ]
        let answers = try await Curl.run(table.map(\.0))
        #expect(answers.map(\.status) == table.map(\.1))
        #expect(answers.map { $0.json["code"] as? Int } == table.map(\.2))
        #expect(answers.allSatisfy { $0.json["http"] as? Int == $0.status })
        await lab.shutdown()
    }

    @Test func tokensOpenTheirTopics() async throws {
        let token = LabConfiguration.Ntfy.accessToken
        let (lab, url) = try await start {
            $0.ntfy?.allowsAnonymous = false
            $0.ntfy?.accessTokens["tk_other"] = ["mine"]
        }
        #expect(lab.addresses.ntfy?.accessToken == token)
        #expect(token.utf8.count == 32)
        let basic = "Basic " + Data(":\(token)".utf8).base64EncodedString()
        let parameter = ProviderJWT.base64URL(Array("Bearer \(token)".utf8))
        let table: [([String], Int)] = [
            ([url + "/news"], 403), ([url + "/up0123456789ab?up=1"], 200),
            ([url + "/news", "-H", "Authorization: Bearer \(token)"], 200),
            ([url + "/news", "-H", "Authorization: \(basic)"], 200), ([url + "/news?auth=\(parameter)"], 200),
            ([url + "/news", "-H", "Authorization: Bearer tk_wrong"], 401),
            ([url + "/news", "-H", "Authorization: Basic eDp5"], 401), ([url + "/news?auth=!"], 401),
            ([url + "/news", "-H", "Authorization: Bearer tk_other"], 403),
            ([url + "/mine", "-H", "Authorization: Bearer tk_other"], 200),
            // Web Push's header is unknown to ntfy.
            ([url + "/news", "-H", "Authorization: vapid t=a,k=b"], 200),
        ]
        let answers = try await Curl.run(table.map { $0.0 + ["-d", "x"] })
        #expect(answers.map(\.status) == table.map(\.1))
        await lab.shutdown()
    }

    /// Browsers and relay clients may keep looking for a program that used this port earlier.
    @Test func requestsForOtherProgramsAreNotRecorded() async throws {
        let (lab, url) = try await start()
        let gotify = try #require(lab.addresses.gotify?.url)
        let paths = ["/", "/status", "/json/version", "/docs"]
        let answers = try await Curl.run([url, gotify].flatMap { origin in paths.map { [origin + $0] } })
        #expect(answers.allSatisfy { $0.status == 404 })
        #expect(try await Curl.run([[url + "/news/publish?message=x"]])[0].status == 200)
        #expect(lab.received.map(\.path) == ["/news/publish?message=x"])
        await lab.shutdown()
    }

    @Test func codesCanBeOrderedAndTopicsDeclared() async throws {
        let (lab, url) = try await start { $0.controlPort = 0 }
        lab.misbehave(
            ScriptedBehavior(.answer(status: 429, reason: "42908"), service: .ntfy),
            ScriptedBehavior(.answer(status: 429, reason: "42909"), service: .ntfy),
            ScriptedBehavior(.answer(status: 429, retryAfter: 9), service: .ntfy),
            ScriptedBehavior(.answer(status: 507), service: .ntfy)
        )
        let answers = try await Curl.run(Array(repeating: [url + "/news", "-d", "x"], count: 4))
        #expect(answers.map { $0.json["code"] as? Int } == [42908, 42909, 42901, 50701])
        #expect(answers[0].json["error"] as? String == "limit reached: daily message quota reached")
        #expect(answers[2].headers["retry-after"] == "9")
        let control = try #require(lab.addresses.control)
        let topics = #"""
            [{"service":"ntfy","token":"up0123456789ab","state":"no_subscriber"},
             {"service":"ntfy","token":"shut","state":"forbidden"},{"service":"unifiedpush","token":"old","state":"gone"}]
            """#
        #expect(try await Curl.run(control + "/tokens", "-d", topics).status == 200)
        let unifiedPush = try #require(lab.unifiedPushURL)
        let declared = try await Curl.run(
            [url + "/up0123456789ab?up=1", url + "/shut", unifiedPush + "/old", url + "/old"].map { [$0, "-d", "x"] }
        )
        #expect(declared.map(\.status) == [507, 403, 404, 200])
        await lab.shutdown()
    }
}
