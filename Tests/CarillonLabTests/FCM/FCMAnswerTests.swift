import CarillonLab
import Foundation
import Testing

/// Every row of FCM's error codes in Google's form.
struct FCMAnswerTests {
    struct Row: Sendable {
        let text: String
        let google: String?
        let code: String?
        let message: String
        /// The types of the details other than FcmError.
        let details: [String]

        init(_ text: String, _ google: String?, _ code: String?, _ message: String, _ details: String...) {
            (self.text, self.google, self.code, self.message, self.details) = (text, google, code, message, details)
        }
    }

    private static let argumentInvalid = "Request contains an invalid argument."
    private static let tokenInvalid = "The registration token is not a valid FCM registration token"
    private static let authError = "Auth error from APNS or Web Push Service"
    private static let apnsError = "google.firebase.fcm.v1.ApnsError InvalidProviderToken"

    private static let rows = [
        Row("status=500,reason=UNSPECIFIED_ERROR", "INTERNAL", "UNSPECIFIED_ERROR", "Unknown error."),
        Row("status=418,reason=UNSPECIFIED_ERROR", nil, "UNSPECIFIED_ERROR", "Unknown error."),
        Row("status=400", "INVALID_ARGUMENT", "INVALID_ARGUMENT", argumentInvalid),
        Row(
            "status=400,message=" + tokenInvalid,
            "INVALID_ARGUMENT",
            "INVALID_ARGUMENT",
            tokenInvalid,
            "google.rpc.BadRequest message.token"
        ),
        Row(
            "status=400,reason=INVALID_ARGUMENT,field=message.data",
            "INVALID_ARGUMENT",
            "INVALID_ARGUMENT",
            argumentInvalid,
            "google.rpc.BadRequest message.data"
        ),
        Row(
            "status=400,message=Android message is too big",
            "INVALID_ARGUMENT",
            "INVALID_ARGUMENT",
            "Android message is too big"
        ),
        Row("status=404", "NOT_FOUND", "UNREGISTERED", "Requested entity was not found."),
        Row("status=404,reason=NOT_FOUND", "NOT_FOUND", nil, "Requested entity was not found."),
        Row("status=403,reason=SENDER_ID_MISMATCH", "PERMISSION_DENIED", "SENDER_ID_MISMATCH", "SenderId mismatch"),
        Row("status=403", "PERMISSION_DENIED", nil, "The caller does not have permission"),
        Row(
            "status=429",
            "RESOURCE_EXHAUSTED",
            "QUOTA_EXCEEDED",
            "Resource has been exhausted (e.g. check quota).",
            "google.rpc.QuotaFailure project:my-project"
        ),
        Row("status=503", "UNAVAILABLE", "UNAVAILABLE", "The service is currently unavailable."),
        Row("status=500", "INTERNAL", "INTERNAL", "Internal error encountered."),
        Row(
            "status=504,reason=DEADLINE_EXCEEDED",
            "DEADLINE_EXCEEDED",
            nil,
            "Deadline expired before operation could complete."
        ),
        Row(
            "status=401,reason=THIRD_PARTY_AUTH_ERROR",
            "UNAUTHENTICATED",
            "THIRD_PARTY_AUTH_ERROR",
            authError,
            apnsError
        ),
        Row("status=401,reason=APNS_AUTH_ERROR", "UNAUTHENTICATED", "APNS_AUTH_ERROR", authError, apnsError),
    ]

    private static func details(_ answer: Curl.Answer) -> [String] {
        let error = JSONValue(parsing: Array(answer.body.utf8))?["error"]
        return (error?["details"]?.elements ?? []).compactMap { detail in
            let type = detail["@type"]?.string?.split(separator: "/").last ?? ""
            let violation = detail["fieldViolations"]?[0]?["field"] ?? detail["violations"]?[0]?["subject"]
            guard let about = violation ?? detail["reason"] else { return nil }
            return "\(type) \(about.string ?? "")"
        }
    }

    @Test func errorsHaveGooglesForm() async throws {
        let bench = try await FCMBench()
        let accessToken = try await bench.accessToken()
        bench.lab.misbehave(try Self.rows.map { try ScriptedBehavior(parsing: "answer,service=fcm," + $0.text) })
        let answers = try await Curl.run(Array(repeating: bench.send(accessToken: accessToken), count: Self.rows.count))
        for (row, answer) in zip(Self.rows, answers) {
            let status = row.text.dropFirst("status=".count).prefix(3)
            #expect(answer.status == Int(status), "\(row.text)")
            #expect(answer.googleStatus == row.google, "\(row.text)")
            #expect(answer.fcmErrorCode == row.code, "\(row.text)")
            #expect(answer.googleMessage == row.message, "\(row.text)")
            #expect(Self.details(answer) == row.details, "\(row.text)")
        }
        await bench.lab.shutdown()
    }

    @Test func severalProjectsAreIndependent() async throws {
        let bench = try await FCMBench {
            $0.fcm?.devices = [FCMDevice(token: FCMBench.token, project: FCMBench.otherAccount.projectID)]
        }
        #expect(bench.fcm.projects.map(\.projectID) == ["my-project", "other-project"])
        for (account, project) in zip([FCMBench.account, FCMBench.otherAccount], bench.fcm.projects) {
            let file = try String(contentsOfFile: project.serviceAccountFile, encoding: .utf8)
            #expect(try FCMServiceAccount(json: file) == account)
        }
        let own = try await bench.accessToken()
        let other = try await bench.accessToken(of: FCMBench.otherAccount)
        let answers = try await Curl.run([
            bench.send(accessToken: own), bench.send(accessToken: other, project: FCMBench.otherAccount.projectID),
        ])
        #expect(answers.map(\.fcmErrorCode) == ["SENDER_ID_MISMATCH", nil])
        #expect(answers[1].status == 200)
        await bench.lab.shutdown()
    }
}
