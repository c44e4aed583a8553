import CBreadcrumbs
import CarillonABI
import Notifications

// The functions of a plugin in the router's own process, each of which leaves a note while it is inside.

extension TransportFunctions {
    /// The same functions, noting in `crumbs` what they are given.
    func noting(in crumbs: Breadcrumbs, as plugin: StaticName) -> TransportFunctions {
        var functions = self
        functions.create = crumbs.noting(create, of: plugin)
        functions.destroy = crumbs.noting(destroy, of: plugin)
        functions.deliver = { [deliver] instance, ticket, registration, notification in
            let id = notification?.pointee.id ?? carillon_str()
            return crumbs.during(.deliver, plugin, id) { deliver(instance, ticket, registration, notification) }
        }
        if let deliverMany {
            // Only the first is noted. After a death each is given alone, and the note is exact.
            functions.deliverMany = { instance, deliveries, count in
                guard !crumbs.isTryingAlone else { return .CARILLON_UNSUPPORTED }
                let id = (count > 0 ? deliveries?[0]?.pointee.notification?.pointee.id : nil) ?? carillon_str()
                return crumbs.during(.deliver, plugin, id) { deliverMany(instance, deliveries, count) }
            }
        }
        if let receive {
            functions.receive = { instance, request, done, context in
                crumbs.during(.receive, plugin, carillon_str()) { receive(instance, request, done, context) }
            }
        }
        functions.isSetAside = { id in crumbs.isGuilty(plugin.text, id.description) }
        if let validate {
            functions.validate = { instance, registration, error in
                let subject = Breadcrumbs.fingerprint(registration?.pointee.token ?? carillon_str())
                guard !crumbs.isGuilty(plugin.text, subject) else {
                    ErrorBuffer.write("the router ended twice while the plugin checked this registration", to: error)
                    return .CARILLON_INVALID
                }
                return subject.lend { subject in
                    crumbs.during(.validate, plugin, subject) { validate(instance, registration, error) }
                }
            }
        }
        if let cancel {
            functions.cancel = { instance, ticket in
                crumbs.during(.cancel, plugin, carillon_str()) { cancel(instance, ticket) }
            }
        }
        if let command {
            functions.command = { instance, words, count, done, context in
                crumbs.during(.command, plugin, carillon_str()) { command(instance, words, count, done, context) }
            }
        }
        if let check {
            functions.check = { block, error in
                let subject = Breadcrumbs.fingerprint(block)
                guard !crumbs.isGuilty(plugin.text, subject) else {
                    ErrorBuffer.write("the router ended twice while the plugin checked this block", to: error)
                    return .CARILLON_INVALID
                }
                return subject.lend { subject in crumbs.during(.check, plugin, subject) { check(block, error) } }
            }
        }
        return functions
    }
}

extension FilterFunctions {
    /// The same functions, noting in `crumbs` what they are given.
    func noting(in crumbs: Breadcrumbs, as plugin: StaticName) -> FilterFunctions {
        var functions = self
        functions.create = crumbs.noting(create, of: plugin)
        functions.destroy = crumbs.noting(destroy, of: plugin)
        functions.decide = { [decide] instance, call, verdict in
            let subject = Breadcrumbs.fingerprint(call?.pointee.event ?? carillon_str())
            guard !crumbs.isGuilty(plugin.text, subject) else { return .CARILLON_FAILED }
            return subject.lend { subject in
                crumbs.during(.decide, plugin, subject) { decide(instance, call, verdict) }
            }
        }
        return functions
    }
}

extension Breadcrumbs {
    /// A configuration on which the router ended twice is refused, so that everything else can start.
    fileprivate func noting(
        _ create: @escaping TransportFunctions.Create,
        of plugin: StaticName
    ) -> TransportFunctions.Create {
        { [self] host, configuration, instance, error in
            let subject = Breadcrumbs.fingerprint(configuration)
            guard !isGuilty(plugin.text, subject) else {
                ErrorBuffer.write("the router ended twice while the plugin took this configuration", to: error)
                return .CARILLON_INVALID
            }
            return subject.lend { subject in
                during(.create, plugin, subject) { create(host, configuration, instance, error) }
            }
        }
    }

    /// Names the plugin and keeps nothing from it: an instance that is not destroyed would be left behind.
    fileprivate func noting(
        _ destroy: @escaping TransportFunctions.Destroy,
        of plugin: StaticName
    ) -> TransportFunctions.Destroy {
        { [self] instance in during(.destroy, plugin, carillon_str()) { destroy(instance) } }
    }
}

/// What a plugin was inside of when it asked for something that comes later: an answer, a timer, an event of a stream.
///
/// Unchecked: it does not change.
struct LastingNote: @unchecked Sendable {
    private struct Lengths {
        let plugin: Int
        let subject: Int
    }

    /// Both texts, and no more room than they need.
    private let texts: ManagedBuffer<Lengths, CChar>

    /// That of the calling thread; nil where no notes are taken.
    static var current: LastingNote? {
        var crumb = carillon_crumb()
        carillon_crumb_current(&crumb)
        return crumb.call == 0 ? nil : LastingNote(crumb)
    }

    private init(_ crumb: carillon_crumb) {
        let room = Int(CARILLON_CRUMB_TEXT)
        let lengths = Lengths(
            plugin: min(Int(crumb.plugin_length), room),
            subject: min(Int(crumb.subject_length), room)
        )
        texts = .create(minimumCapacity: lengths.plugin + lengths.subject) { _ in lengths }
        texts.withUnsafeMutablePointerToElements { texts in
            withUnsafeBytes(of: crumb.plugin) { texts.copy($0, lengths.plugin) }
            withUnsafeBytes(of: crumb.subject) { (texts + lengths.plugin).copy($0, lengths.subject) }
        }
    }

    /// Calls the plugin again, where `note` says what it was inside of when it asked for that.
    static func during(_ function: InterruptedCall.Function, _ note: LastingNote?, _ body: () -> Void) {
        guard let note else { return body() }
        var former = carillon_crumb()
        note.texts.withUnsafeMutablePointers { lengths, texts in
            carillon_crumb_enter(
                &former,
                function.rawValue,
                texts,
                lengths.pointee.plugin,
                texts + lengths.pointee.plugin,
                lengths.pointee.subject
            )
        }
        body()
        carillon_crumb_leave(&former)
    }
}

extension UnsafeMutablePointer<CChar> {
    fileprivate func copy(_ bytes: UnsafeRawBufferPointer, _ count: Int) {
        guard let start = bytes.baseAddress else { return }
        UnsafeMutableRawPointer(self).copyMemory(from: start, byteCount: count)
    }
}

extension String {
    /// Lends the text for the time of `body`.
    fileprivate func lend<Result>(_ body: (carillon_str) -> Result) -> Result {
        var text = self
        return text.withUTF8 { body(carillon_str(ptr: UnsafeRawPointer($0.baseAddress), len: $0.count)) }
    }
}
