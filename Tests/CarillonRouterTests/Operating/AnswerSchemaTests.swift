import Foundation
import JSON
import Rules
import Testing

@testable import Operations

@Suite struct AnswerSchemaTests {
    private struct Inner: Codable {
        var isOn: Bool
        var p50Ms: Double?
    }

    private enum Word: String, Codable, CaseIterable {
        case one, two
    }

    private struct Answer: Codable {
        var traceID: String
        var count: UInt64
        var offset: Int32?
        var list: [Inner]
        var names: [String: UInt64]
        var words: [Word]?
    }

    @Test func schemaMatchesItsType() throws {
        let text = AnswerSchema.of(Answer.self).prettyPrinted
        let schema = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
        let expected: NSDictionary = [
            "type": "object", "required": ["trace_id", "count", "list", "names"],
            "properties": [
                "trace_id": ["type": "string"], "count": ["type": "integer", "minimum": 0],
                "offset": ["type": "integer"],
                "list": [
                    "type": "array",
                    "items": [
                        "type": "object", "required": ["is_on"],
                        "properties": ["is_on": ["type": "boolean"], "p50_ms": ["type": "number"]],
                    ],
                ],
                "names": ["type": "object", "additionalProperties": ["type": "integer", "minimum": 0]],
                "words": ["type": "array", "items": ["type": "string", "enum": ["one", "two"]]],
            ],
        ]
        #expect(schema == expected, "\(text)")
    }

    /// A type with a custom decoder would have no members here.
    @Test func everyReportHasMembers() {
        let schemas = [
            AnswerSchema.of(RouterStatus.self), AnswerSchema.of(EventExplanation.self),
            AnswerSchema.of(DeviceList.self), AnswerSchema.of(DeviceOverview.self),
            AnswerSchema.of(RemovedDevice.self), AnswerSchema.of(TestPushAnswer.self), AnswerSchema.of(QueueList.self),
            AnswerSchema.of(QueueDetails.self), AnswerSchema.of(QueueRetry.self), AnswerSchema.of(QueueDropped.self),
            AnswerSchema.of(RelayList.self), AnswerSchema.of(UserList.self), AnswerSchema.of(UserOverview.self),
            AnswerSchema.of(AccessReport.self), AnswerSchema.of(AccessAnswer.self),
            AnswerSchema.of(PluginOverview.self), AnswerSchema.of(StatisticsReport.self),
            AnswerSchema.of(LogReport.self),
        ]
        for schema in schemas {
            let members = schema.members.first { $0.key == "properties" }?.value.members ?? []
            #expect(!members.isEmpty, "\(schema.prettyPrinted)")
        }
    }
}
