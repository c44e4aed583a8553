import CarillonLab
import Foundation
import Testing

/// Every row of FCM's error codes can be had, in Google's form.
struct FCMAnswerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var text: String
        var status: Int
        var google: String?
        var code: String?
        var message: String
        /// The types of the details beside FcmError.
        var details: [String] = []

        var testDescription: String { text }
    }

    private static let rows = [
        Row(
            text: "status=500,reason=UNSPECIFIED_ERROR",
            status: 500,
            google: "INTERNAL",
            code: "UNSPECIFIED_ERROR",
            message: "Unknown error."
        ),
        Row(
            text: "status=418,reason=UNSPECIFIED_ERROR",
            status: 418,
            google: nil,
            code: "UNSPECIFIED_ERROR",
            message: "Unknown error."
        ),
        Row(
            text: "status=400",
            status: 400,
            google: "INVALID_ARGUMENT",
            code: "INVALID_ARGUMENT",
            message: "Request contains an invalid argument."
        ),
        Row(
            text: "status=400,message=The registration token is not a valid FCM registration token",
            status: 400,
            google: "INVALID_ARGUMENT",
            code: "INVALID_ARGUMENT",
            message: "The registration token is not a valid FCM registration token",
            details: ["google.rpc.BadRequest message.token"]
        ),
        Row(
            text: "status=400,reason=INVALID_ARGUMENT,field=message.data",
            status: 400,
            google: "INVALID_ARGUMENT",
            code: "INVALID_ARGUMENT",
            message: "Request contains an invalid argument.",
            details: ["google.rpc.BadRequest message.data"]
        ),
        Row(
            text: "status=400,message=Android message is too big",
            status: 400,
            google: "INVALID_ARGUMENT",
            code: "INVALID_ARGUMENT",
            message: "Android message is too big"
        ),
        Row(
            text: "status=404",
            status: 404,
            google: "NOT_FOUND",
            code: "UNREGISTERED",
            message: "Requested entity was not found."
        ),
        Row(
            text: "status=404,reason=NOT_FOUND",
            status: 404,
            google: "NOT_FOUND",
            code: nil,
            message: "Requested entity was not found."
        ),
        Row(
            text: "status=403,reason=SENDER_ID_MISMATCH",
            status: 403,
            google: "PERMISSION_DENIED",
            code: "SENDER_ID_MISMATCH",
            message: "SenderId mismatch"
        ),
        Row(
            text: "status=403",
            status: 403,
            google: "PERMISSION_DENIED",
            code: nil,
            message: "The caller does not have permission"
        ),
        Row(
            text: "status=429",
            status: 429,
            google: "RESOURCE_EXHAUSTED",
            code: "QUOTA_EXCEEDED",
            message: "Resource has been exhausted (e.g. check quota).",
            details: ["google.rpc.QuotaFailure project:my-project"]
        ),
        Row(
            text: "status=503",
            status: 503,
            google: "UNAVAILABLE",
            code: "UNAVAILABLE",
            message: "The service is currently unavailable."
        ),
        Row(
            text: "status=500",
            status: 500,
            google: "INTERNAL",
            code: "INTERNAL",
            message: "Internal error encountered."
        ),
        Row(
            text: "status=504,reason=DEADLINE_EXCEEDED",
            status: 504,
            google: "DEADLINE_EXCEEDED",
            code: nil,
            message: "Deadline expired before operation could complete."
        ),
        Row(
            text: "status=401,reason=THIRD_PARTY_AUTH_ERROR",
            status: 401,
            google: "UNAUTHENTICATED",
            code: "THIRD_PARTY_AUTH_ERROR",
            message: "Auth error from APNS or Web Push Service",
            details: ["google.firebase.fcm.v1.ApnsError InvalidProviderToken"]
        ),
        Row(
            text: "status=401,reason=APNS_AUTH_ERROR",
            status: 401,
            google: "UNAUTHENTICATED",
            code: "APNS_AUTH_ERROR",
            message: "Auth error from APNS or Web Push Service",
            details: ["google.firebase.fcm.v1.ApnsError InvalidProviderToken"]
        ),
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

    @Test func theyHaveGooglesForm() async throws {
        let bench = try await FCMBench()
        let accessToken = try await bench.accessToken()
        bench.lab.misbehave(try Self.rows.map { try Misbehaviour(parsing: "answer,service=fcm," + $0.text) })
        let answers = try await Curl.run(Array(repeating: bench.send(accessToken: accessToken), count: Self.rows.count))
        for (row, answer) in zip(Self.rows, answers) {
            #expect(answer.status == row.status, "\(row.text)")
            #expect(answer.googleStatus == row.google, "\(row.text)")
            #expect(answer.fcmErrorCode == row.code, "\(row.text)")
            #expect(answer.googleMessage == row.message, "\(row.text)")
            #expect(Self.details(answer) == row.details, "\(row.text)")
        }
        await bench.lab.shutdown()
    }

    @Test func severalProjectsStandSideBySide() async throws {
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
