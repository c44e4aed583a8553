import CarillonLab
import Foundation
import Testing

struct TokenEndpointTests {
    @Test func anAssertionBecomesAnAccessToken() async throws {
        let bench = try await FCMBench()
        let assertion = try await ServiceAccountJWT.make(
            FCMBench.account,
            audience: bench.fcm.tokenURL,
            issuedAt: APNsBench.now
        )
        let answer = try await Curl.run([bench.exchange(assertion)])[0]
        #expect(answer.status == 200)
        #expect(answer.headers["content-type"]?.hasPrefix("application/json") == true)
        #expect(answer.json["token_type"] as? String == "Bearer")
        #expect(answer.json["expires_in"] as? Int == 3599)
        #expect((answer.json["access_token"] as? String)?.hasPrefix("ya29.") == true)
        let request = try await bench.lab.next()
        #expect(request.service == .oauth)
        #expect(request.status == 200)
        await bench.lab.shutdown()
    }

    @Test func invalidAssertionsAreRefused() async throws {
        let bench = try await FCMBench()
        let url = bench.fcm.tokenURL
        func jwt(header: String? = nil, _ change: (inout [String: Any]) -> Void) async throws -> [String] {
            let account = FCMBench.account
            return bench.exchange(
                try await ServiceAccountJWT.make(
                    account,
                    audience: url,
                    issuedAt: APNsBench.now,
                    header: header,
                    change
                )
            )
        }
        let good = try await ServiceAccountJWT.make(FCMBench.account, audience: url, issuedAt: APNsBench.now)
        let table: [([String], Int, String)] = [
            (try await jwt { $0["aud"] = "https://oauth2.googleapis.com/token" }, 400, "invalid_grant"),
            (try await jwt { $0["iss"] = "nobody@example.com" }, 400, "invalid_grant"),
            // Signed by another account's key.
            (try await jwt { $0["iss"] = FCMBench.otherAccount.clientEmail }, 400, "invalid_grant"),
            (try await jwt { $0["iat"] = APNsBench.now + 301 }, 400, "invalid_grant"),
            (try await jwt { $0["exp"] = APNsBench.now }, 400, "invalid_grant"),
            (try await jwt { $0["exp"] = APNsBench.now + 3601 }, 400, "invalid_grant"),
            (try await jwt { $0["scope"] = "https://www.googleapis.com/auth/drive" }, 400, "invalid_scope"),
            (try await jwt { $0["scope"] = nil }, 400, "invalid_scope"),
            (try await jwt { $0["exp"] = nil }, 400, "invalid_request"),
            (try await jwt(header: #"{"alg":"HS256","typ":"JWT"}"#) { _ in }, 400, "invalid_grant"),
            (try await jwt(header: #"{"alg":"RS256","kid":"other"}"#) { _ in }, 400, "invalid_grant"),
            (bench.exchange(String(good.dropLast(4)) + "AAAA"), 400, "invalid_grant"),
            (bench.exchange("not.a.jwt"), 400, "invalid_request"),
            (bench.exchange(good, grantType: "client_credentials"), 400, "unsupported_grant_type"),
            (bench.exchange(good) + ["-H", "content-type: application/json"], 400, "invalid_request"),
            (["--http2", "--cacert", bench.lab.addresses.caFile, url], 405, "invalid_request"),
        ]
        for (arguments, status, error) in table {
            let answer = try await Curl.run([arguments])[0]
            #expect(answer.status == status)
            #expect(answer.json["error"] as? String == error)
            let request = try await bench.lab.next()
            #expect(request.reason == error)
            #expect(request.detail?.isEmpty == false)
        }
        await bench.lab.shutdown()
    }

    @Test func orderedMisbehaviourIsApplied() async throws {
        let bench = try await FCMBench()
        let assertion = try await ServiceAccountJWT.make(
            FCMBench.account,
            audience: bench.fcm.tokenURL,
            issuedAt: APNsBench.now
        )
        bench.lab.misbehave(
            ScriptedBehavior(.answer(status: 503, retryAfter: 3), service: .oauth),
            ScriptedBehavior(.answer(status: 400), service: .oauth),
            ScriptedBehavior(.answer(status: 401, reason: "deleted_client"), service: .oauth),
            ScriptedBehavior(.html(status: 502), service: .oauth)
        )
        let answers = try await Curl.run(Array(repeating: bench.exchange(assertion), count: 5))
        #expect(answers.map(\.status) == [503, 400, 401, 502, 200])
        #expect(answers[0].headers["retry-after"] == "3")
        #expect(answers[1].json["error"] as? String == "invalid_grant")
        #expect(answers[2].json["error"] as? String == "deleted_client")
        #expect(answers[3].body.hasPrefix("<html>"))
        await bench.lab.shutdown()
    }

    @Test func writesTheServiceAccountForTheOperator() async throws {
        let bench = try await FCMBench()
        let text = try String(contentsOfFile: bench.fcm.serviceAccountFile, encoding: .utf8)
        let attributes = try FileManager.default.attributesOfItem(atPath: bench.fcm.serviceAccountFile)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let file = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String])
        #expect(file["type"] == "service_account")
        #expect(file["token_uri"] == bench.fcm.tokenURL)
        #expect(try FCMServiceAccount(json: text) == FCMBench.account)
        #expect(
            "\(FCMBench.account)" == "FCMServiceAccount(push@my-project.iam.gserviceaccount.com, projectID: my-project)"
        )
        await bench.lab.shutdown()
    }

    @Test func anAccountWithoutAKeyIsRefused() {
        #expect(throws: LabError.self) { try FCMServiceAccount(json: "{}") }
        #expect(throws: LabError.self) {
            try FCMServiceAccount(
                json:
                    #"{"project_id":"p","private_key_id":"k","private_key":"-","client_email":"e","token_uri":"u","type":"t"}"#
            )
        }
    }
}
