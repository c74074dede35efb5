"""Queues over SNMP, from both sides.

*The agent's side* makes the queues of a machine objects of SNMP: :mod:`.queue_objects` (the rows of
DIFFSERV-MIB and VERMILION-QUEUE-MIB, and their changes; pure) over a :mod:`.registry` of queues, of
which :mod:`.linux_queues` is that of a Linux machine. The room ``agentx`` brings them into snmpd.

*The manager's side* is a kind of router: :mod:`.router` over a :mod:`.session`, with the secrets of
:mod:`.credentials`.

:mod:`.mib` is what both have in common, and ``VERMILION-QUEUE-MIB.txt`` the same for other tools.
"""
