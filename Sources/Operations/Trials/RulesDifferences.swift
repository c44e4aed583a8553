import Console
import Core
import Foundation
import Nostr
import Observability
import Pipeline
import PluginHost
import Push
import Registry
import RouterConfiguration
import Rules

/// Finds which of the events that are kept other rules would have made something else of, for the devices that are
/// registered now.
///
/// Both sides are decided anew, so that a device that came since or a name that is not known makes no difference. What
/// stands after the rules (filters, pace, quiet hours) is not asked. No content leaves this: a difference names what
/// differs.
struct RulesDifferences: Sendable {
    /// How many differences are listed.
    private static let mostListed = 200
    /// How many kinds of devices of one account are told apart.
    private static let mostDevices = 50

    private let kept: KeptEventPages
    private let registry: Registry
    private let plugins: PluginHost
    private let now: @Sendable () -> Timestamp

    init(kept: KeptEventPages, registry: Registry, plugins: PluginHost, now: @escaping @Sendable () -> Timestamp) {
        (self.kept, self.registry, self.plugins, self.now) = (kept, registry, plugins, now)
    }

    /// Devices of one account that rules treat alike.
    private struct DeviceSort: Hashable {
        var route: Route
        var language: LanguageTag?
        var mode: Mode
        var signals: [Signal]
    }

    /// Throws an ``APIProblem`` where no events are kept, and what the disk throws.
    func between(
        _ inForce: RuleBook,
        _ other: RuleBook,
        hours: Int,
        _ configuration: Configuration
    ) async throws -> RulesDiff {
        let time = now()
        do {
            let (events, members) = try await kept.events(since: time - .hours(hours))
            return try await DiskWork.run {
                var answer = try compare(events, inForce, other, hours: hours, at: time, configuration)
                answer.members = members
                return answer
            }
        } catch let failure as OperationFailure where failure.kind == .unavailable {
            throw APIProblem(409, failure)
        }
    }

    private func compare(
        _ events: [KeptEvent],
        _ inForce: RuleBook,
        _ other: RuleBook,
        hours: Int,
        at time: Timestamp,
        _ configuration: Configuration
    ) throws -> RulesDiff {
        var answer = RulesDiff(
            hours: hours,
            events: events.count,
            since: events.last.map { $0.time.rfc3339 },
            newKinds: Self.newKinds(inForce, other)
        )
        var devices: [PublicKey: [DeviceSort: Int]] = [:]
        for kept in events {
            var differs = false
            for account in kept.accounts {
                let sorts = try devices[account] ?? self.devices(of: account, configuration)
                devices[account] = sorts
                // In one order each time.
                for (sort, count) in sorts.sorted(by: { "\($0.key)" < "\($1.key)" }) {
                    let (before, after) = try (
                        decision(on: kept.event, for: account, sort, by: inForce, at: time),
                        decision(on: kept.event, for: account, sort, by: other, at: time)
                    )
                    let changes = before.changes(to: after)
                    guard !changes.isEmpty else { continue }
                    differs = true
                    answer.differences += 1
                    guard answer.list.count < Self.mostListed else { continue }
                    answer.list.append(
                        RulesDiff.Difference(
                            event: kept.event.id.hex,
                            at: kept.time.rfc3339,
                            kind: Int(kept.event.kind.rawValue),
                            account: account.hex,
                            platform: sort.route.platform,
                            app: sort.route.app,
                            language: sort.language?.description,
                            devices: count,
                            before: before.side,
                            after: after.side,
                            changes: changes
                        )
                    )
                }
            }
            if differs { answer.differing += 1 }
        }
        return answer
    }

    private func devices(of account: PublicKey, _ configuration: Configuration) throws -> [DeviceSort: Int] {
        var sorts: [DeviceSort: Int] = [:]
        for listing in try registry.devices(of: account, limit: Self.mostDevices) {
            let locale = try registry.content(of: listing.device)?.locale
            let sort = DeviceSort(
                route: listing.route,
                language: locale.flatMap { LanguageTag($0) },
                mode: listing.mode ?? configuration.defaultMode,
                signals: listing.signals
            )
            sorts[sort, default: 0] += 1
        }
        return sorts
    }

    private func decision(
        on event: Event,
        for account: PublicKey,
        _ device: DeviceSort,
        by rules: RuleBook,
        at time: Timestamp
    ) throws -> RuledOutcome {
        let author = (try? Relevance.classify(event, for: account))?.author ?? event.pubkey
        let judge = TrialJudge(
            rules: rules,
            recipient: account,
            authorName: nil,
            language: device.language?.nearest(among: rules.languages),
            app: device.route.app,
            isAuthorFollowed: try registry.isFollowed(author, by: account),
            now: time
        )
        let platform = device.route.platform
        switch try judge.decision(on: TrialSubject(event, for: account), platform: platform) {
        case .wakesNobody(_, let rule): return RuledOutcome(wakesNobodyBy: rule)
        case .wakes(let wakeUp):
            guard device.signals.contains(wakeUp.signal) else { return RuledOutcome(unwanted: wakeUp) }
            guard !plugins.showingPlatforms.contains(platform) || !wakeUp.rule.isSilent(on: platform) else {
                return RuledOutcome(wakesNobodyBy: wakeUp.rule.name)
            }
            return RuledOutcome(
                wakeUp,
                judge.rendering(of: wakeUp, mode: device.mode, on: platform).notification,
                wakeUp.rule.push(on: platform, in: device.mode),
                key: wakeUp.rule.paceKey(
                    of: wakeUp.rule.push(on: platform, in: device.mode),
                    wakeUp.input,
                    now: time
                )
            )
        }
    }

    /// The kinds that only the other rules are for: such events get no further than the first look, so that none is
    /// kept.
    private static func newKinds(_ inForce: RuleBook, _ other: RuleBook) -> [Int] {
        guard let known = inForce.notifiableKinds, let wanted = other.notifiableKinds else { return [] }
        return wanted.subtracting(known).map(Int.init).sorted()
    }
}

/// What rules make of an event for one sort of device.
private struct RuledOutcome {
    private enum Result: Hashable {
        case push(Push.Notification, PacedPush, key: String)
        /// The device has the signal off.
        case off
        case nothing
    }

    private let rule: String?
    private let signal: Signal?
    private let result: Result

    init(wakesNobodyBy rule: String?) {
        self.rule = rule
        signal = nil
        result = .nothing
    }

    init(unwanted wakeUp: TrialJudge.WakeUp) {
        rule = wakeUp.rule.name
        signal = wakeUp.signal
        result = .off
    }

    init(_ wakeUp: TrialJudge.WakeUp, _ notification: Push.Notification, _ push: PacedPush, key: String) {
        rule = wakeUp.rule.name
        signal = wakeUp.signal
        result = .push(notification, push, key: key)
    }

    var side: RulesDiff.Side {
        switch result {
        case .push(let notification, _, _):
            RulesDiff.Side(
                result: .push,
                rule: rule,
                signal: signal?.rawValue,
                mode: notification.mode.name,
                urgency: "\(notification.urgency)"
            )
        case .off: RulesDiff.Side(result: .off, rule: rule, signal: signal?.rawValue)
        case .nothing: RulesDiff.Side(result: rule == nil ? .unmatched : .dropped, rule: rule)
        }
    }

    /// What is another, in words of rules; empty: nothing is. Where no push goes by either, nothing changes for
    /// anybody.
    func changes(to other: RuledOutcome) -> [String] {
        guard case .push(let before, let push, let key) = result,
            case .push(let after, let otherPush, let otherKey) = other.result
        else {
            switch (result, other.result) {
            case (.push, _), (_, .push): return ["result"]
            default: return []
            }
        }
        let pairs: [(String, Bool)] = [
            ("rule", rule != other.rule), ("signal", signal != other.signal), ("mode", before.mode != after.mode),
            ("urgency", before.urgency != after.urgency), ("title", before.title != after.title),
            ("subtitle", before.subtitle != after.subtitle), ("body", before.body != after.body),
            ("neutral", before.neutral != after.neutral || before.neutralPresentation != after.neutralPresentation),
            ("category", before.category != after.category), ("thread", before.thread != after.thread),
            ("collapse", before.collapseKey != after.collapseKey), ("url", before.url != after.url),
            ("actions", before.actions != after.actions), ("data", before.data != after.data),
            ("expires", before.expiresAt != after.expiresAt),
            ("pace", push != otherPush || key != otherKey),
        ]
        let platforms = Set(before.native.keys).union(after.native.keys).sorted()
        return pairs.filter(\.1).map(\.0) + platforms.filter { before.native[$0] != after.native[$0] }
    }
}

/// Which events other rules would have made something else of.
package struct RulesDiff: OperatorAnswer {
    package enum Result: String, Codable, Sendable, CaseIterable {
        case push, off, dropped, unmatched
    }

    package struct Side: Codable, Sendable, Equatable {
        /// `off`: the device has the signal off.
        package var result: Result
        package var rule: String?
        package var signal: String?
        package var mode: String?
        package var urgency: String?

        var words: String {
            switch result {
            case .push:
                ["push by '\(rule ?? "")'", signal ?? "", mode ?? "", urgency ?? ""].filter { !$0.isEmpty }
                    .joined(separator: ", ")
            case .off: "nothing: the device has \(signal ?? "its signal") off"
            case .dropped: "nothing: '\(rule ?? "")' drops it"
            case .unmatched: "nothing: no rule is for it"
            }
        }
    }

    package struct Difference: Codable, Sendable, Equatable {
        package var event: String
        package var at: String
        package var kind: Int
        package var account: String
        package var platform: String
        package var app: String
        package var language: String?
        /// How many of the account's devices it is so for.
        package var devices: Int
        package var before: Side
        package var after: Side
        /// What is another; `result`: whether it is a push at all.
        package var changes: [String]
    }

    /// How far back it looked.
    package var hours: Int
    /// The events that were tried, and how many of them differ for some device.
    package var events: Int
    package var differing = 0
    /// When the oldest of them came; nil where there are none.
    package var since: String?
    /// In all; `list` has the first of them.
    package var differences = 0
    package var list: [Difference] = []
    /// The kinds that only the other rules are for: no such event is kept, so that none was tried.
    package var newKinds: [Int]
    /// Whose events they are; nil: the router serves alone.
    package var members: MembersAsked?

    init(hours: Int, events: Int, since: String?, newKinds: [Int]) {
        self.hours = hours
        self.events = events
        self.since = since
        self.newKinds = newKinds
    }

    package var text: String {
        var lines = ["\(events) events of the last \(hours) h, \(differing) would become something else"]
        for each in list {
            let language = each.language.map { ", \($0)" } ?? ""
            let count = each.devices == 1 ? "" : ", \(each.devices) devices"
            lines.append("")
            lines.append("\(each.event)  kind \(each.kind)  \(each.at)")
            lines.append("  to \(each.account), \(each.platform) (\(each.app)\(language)\(count))")
            lines.append("  before: \(each.before.words)")
            lines.append("  after:  \(each.after.words)")
            if each.changes != ["result"] { lines.append("  other:  \(each.changes.joined(separator: ", "))") }
        }
        if differences > list.count { lines += ["", "and \(differences - list.count) more"] }
        if !newKinds.isEmpty {
            lines += [
                "",
                "Only the other rules are for the kinds \(newKinds.map(String.init).joined(separator: ", ")): such events were not "
                    + "kept, so that none was tried.",
            ]
        }
        if let missing = members?.lines, !missing.isEmpty { lines += [""] + missing }
        return lines.joined(separator: "\n")
    }
}

/// What a command asks the running router to compare.
package struct RulesDiffRequest: Encodable, Sendable {
    private enum CodingKeys: CodingKey {
        case rules, file, hours
    }

    private let rules: String?
    private let path: String?
    private let file: String?
    private let hours: Int

    /// Without `rules` the files on disk; with a `file`, they stand in its place. `path` is where they were read.
    package init(rules: String?, of path: String?, file: String?, hours: Int) {
        self.rules = rules
        self.path = path
        self.file = file
        self.hours = hours
    }

    /// Throws an ``OperationFailure``, and `Diagnostics` where the API's token cannot be read.
    package func ask(_ configuration: Configuration) async throws -> RulesDiff {
        do {
            return try await RouterOrFiles(configuration: configuration).require(
                "POST",
                "/v1/rules/diff",
                [:],
                body: JSONEncoder().encode(self),
                toDo: "compare rules"
            )
        } catch let failure as OperationFailure {
            // The router knows the text and not the file.
            guard let path else { throw failure }
            let words = failure.description.replacing("\nrules:", with: "\n\(path):")
            throw OperationFailure(kind: failure.kind, description: words)
        }
    }
}
