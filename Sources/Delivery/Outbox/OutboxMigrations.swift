import GRDB

/// The outbox's tables, version by version. Published versions never change.
///
/// `outbox_delivery.number` is an ``OutboxKey``. `due` is null until the first attempt has failed: the index holds only
/// deliveries that wait for a retry, because an index in random order over a million first tries makes filling ten
/// times slower.
enum OutboxMigrations {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for (name, sql) in versions { migrator.registerMigration(name) { try $0.execute(sql: sql) } }
        return migrator
    }

    private static let versions = [
        (
            "outbox-1",
            """
            CREATE TABLE outbox_queue (
                number INTEGER PRIMARY KEY,
                platform TEXT NOT NULL,
                app TEXT NOT NULL,
                UNIQUE (platform, app)
            ) STRICT;
            CREATE TABLE outbox_delivery (
                number INTEGER PRIMARY KEY,
                queue INTEGER NOT NULL,
                id TEXT NOT NULL,
                device INTEGER NOT NULL,
                accepted INTEGER NOT NULL,
                attempts INTEGER NOT NULL DEFAULT 0,
                due INTEGER,
                notification BLOB NOT NULL
            ) STRICT;
            CREATE INDEX outbox_delivery_retry ON outbox_delivery (queue, due) WHERE due IS NOT NULL;
            """
        ),
        ("outbox-2", "CREATE TABLE outbox_cause (number INTEGER PRIMARY KEY, id BLOB NOT NULL) STRICT"),
        (
            "outbox-3",
            """
            CREATE TABLE outbox_pace (
                device INTEGER PRIMARY KEY,
                pushed INTEGER NOT NULL,
                window_start INTEGER NOT NULL,
                matches INTEGER NOT NULL,
                day INTEGER NOT NULL,
                pushes INTEGER NOT NULL,
                under_way TEXT,
                released INTEGER NOT NULL
            ) STRICT;
            CREATE TABLE outbox_held (
                number INTEGER PRIMARY KEY,
                account BLOB NOT NULL,
                event BLOB NOT NULL,
                is_message INTEGER NOT NULL,
                has_overflowed INTEGER NOT NULL,
                signal TEXT NOT NULL,
                mode INTEGER NOT NULL,
                urgency INTEGER NOT NULL,
                count INTEGER NOT NULL,
                since INTEGER NOT NULL,
                expires INTEGER NOT NULL,
                notification BLOB
            ) STRICT;
            """
        ),
        (
            // Of a group of several events only the expiry of the first was known so far.
            "outbox-4",
            """
            ALTER TABLE outbox_held ADD COLUMN sealed_to INTEGER;
            ALTER TABLE outbox_pace ADD COLUMN aside INTEGER NOT NULL DEFAULT 0;
            UPDATE outbox_held SET expires = 0 WHERE count > 1;
            """
        ),
        (
            // Held groups are distinguished by their nature, and a device may have more of them (``HeldKey``). Earlier
            // rows all become part of a batch.
            "outbox-held-natures",
            """
            ALTER TABLE outbox_held RENAME TO outbox_held_former;
            CREATE TABLE outbox_held (
                number INTEGER PRIMARY KEY,
                account BLOB NOT NULL,
                event BLOB NOT NULL,
                is_message INTEGER NOT NULL,
                has_overflowed INTEGER NOT NULL,
                signal TEXT NOT NULL,
                mode INTEGER NOT NULL,
                urgency INTEGER NOT NULL,
                count INTEGER NOT NULL,
                since INTEGER NOT NULL,
                expires INTEGER NOT NULL,
                notification BLOB,
                sealed_to INTEGER,
                nature INTEGER NOT NULL,
                mark INTEGER,
                made INTEGER NOT NULL
            ) STRICT;
            INSERT INTO outbox_held
                SELECT (number >> 2) << 5 | (number & 3), account, event, is_message, has_overflowed, signal, mode, urgency,
                    count, since, expires, notification, sealed_to, mode = 0, NULL, 0
                FROM outbox_held_former;
            DROP TABLE outbox_held_former;
            ALTER TABLE outbox_pace ADD COLUMN silent BLOB;
            """
        ),
        (
            // How the last attempt of a delivery failed, and deliveries that failed for good.
            "outbox-dead-letters",
            """
            ALTER TABLE outbox_delivery ADD COLUMN failure TEXT;
            ALTER TABLE outbox_delivery ADD COLUMN status INTEGER;
            ALTER TABLE outbox_delivery ADD COLUMN reason TEXT;
            CREATE TABLE outbox_dead_letter (
                number INTEGER PRIMARY KEY AUTOINCREMENT,
                id TEXT NOT NULL,
                platform TEXT NOT NULL,
                app TEXT NOT NULL,
                device INTEGER NOT NULL,
                accepted INTEGER NOT NULL,
                failed INTEGER NOT NULL,
                attempts INTEGER NOT NULL,
                failure TEXT NOT NULL,
                status INTEGER NOT NULL,
                reason TEXT NOT NULL,
                notification BLOB NOT NULL
            ) STRICT;
            CREATE INDEX outbox_dead_letter_device ON outbox_dead_letter (device);
            """
        ),
        (
            // Counts by UTC day, without keys of anybody.
            "outbox-figures",
            """
            CREATE TABLE outbox_figure (
                day INTEGER NOT NULL,
                what TEXT NOT NULL,
                platform TEXT NOT NULL,
                app TEXT NOT NULL,
                mode TEXT NOT NULL,
                language TEXT NOT NULL,
                count INTEGER NOT NULL,
                PRIMARY KEY (day, what, platform, app, mode, language)
            ) STRICT, WITHOUT ROWID;
            """
        ),
        (
            // What was asked to be sent over the API, without content.
            "outbox-requests",
            """
            CREATE TABLE outbox_request (
                number INTEGER PRIMARY KEY AUTOINCREMENT,
                id BLOB NOT NULL UNIQUE,
                sender BLOB NOT NULL,
                key BLOB,
                body BLOB NOT NULL,
                created INTEGER NOT NULL,
                events BLOB NOT NULL
            ) STRICT;
            CREATE UNIQUE INDEX outbox_request_key ON outbox_request (sender, key) WHERE key IS NOT NULL;
            """
        ),
        (
            // What several deliveries say, once; `shared` names it, and `notification` is empty then.
            "outbox-shared-notifications",
            """
            CREATE TABLE outbox_notification (number INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT;
            ALTER TABLE outbox_delivery ADD COLUMN shared INTEGER;
            """
        ),
        (
            // Each event of a held group keeps its notification (``HeldMemberKey``); so far the first one did, as long as
            // it was alone. `members` are their numbers, a byte each.
            "outbox-held-members",
            """
            CREATE TABLE outbox_held_member (
                number INTEGER PRIMARY KEY,
                event BLOB NOT NULL,
                mode INTEGER NOT NULL,
                expires INTEGER NOT NULL,
                made INTEGER NOT NULL,
                notification BLOB NOT NULL,
                sealed_to INTEGER
            ) STRICT;
            INSERT INTO outbox_held_member
                SELECT (number >> 5) << 8 | (number & 31), event, mode, expires, made, notification, sealed_to
                FROM outbox_held WHERE notification IS NOT NULL;
            ALTER TABLE outbox_held ADD COLUMN members BLOB;
            UPDATE outbox_held SET members = CAST(char(number & 31) AS BLOB) WHERE notification IS NOT NULL;
            ALTER TABLE outbox_held DROP COLUMN notification;
            ALTER TABLE outbox_held DROP COLUMN sealed_to;
            """
        ),
        (
            // Deletions of an event, an address or all events of an author; and addresses of which a newer version was
            // pushed.
            "outbox-withdrawals",
            """
            CREATE TABLE outbox_withdrawal (
                number INTEGER PRIMARY KEY,
                author BLOB NOT NULL,
                event BLOB,
                address INTEGER,
                until INTEGER NOT NULL,
                is_older INTEGER
            ) STRICT;
            """
        ),
        ("outbox-request-answers", "ALTER TABLE outbox_request ADD COLUMN answer TEXT"),
    ]
}
