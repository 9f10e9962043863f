! Ranks that exchange messages by MPI's Fortran functions, and say what moved as messages.c does.
!
! usage: messages_fortran DIRECTORY      by MPI's launcher, in two ranks
program messages
  implicit none
  include 'mpif.h'
  integer :: rank, size, other, error, i, requests(2), statuses(MPI_STATUS_SIZE, 2), line, found
  integer(8) :: memory
  double precision :: sent(1000), got(1000)
  character(len=256) :: folder
  interface
    integer function cuda_malloc(pointer, bytes) bind(c, name='cudaMalloc')
      integer(8) :: pointer
      integer(8), value :: bytes
    end function
  end interface

  call mpi_init(error)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
  call mpi_comm_size(MPI_COMM_WORLD, size, error)
  if (cuda_malloc(memory, 4096_8) /= 0) call mpi_abort(MPI_COMM_WORLD, 1, error)
  call get_command_argument(1, folder)
  open(unit=9, file=trim(folder)//'/said.'//achar(iachar('0') + rank))
  other = 1 - rank
  sent = rank
  if (rank == 0) then
    call mpi_send(sent, 10, MPI_DOUBLE_PRECISION, 1, 5, MPI_COMM_WORLD, error)
    call said('send Send 80 0 1 - 5 0-1')
  else
    call mpi_recv(got, 1000, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, statuses(:, 1), error)
    call said('receive Recv 0 80 - 0 5 0-1')
  end if
  call mpi_irecv(got, 1000, MPI_DOUBLE_PRECISION, other, 6, MPI_COMM_WORLD, requests(1), error)
  call said('receive Irecv 0 8000 - '//achar(iachar('0') + other)//' 6 0-1')
  call mpi_isend(sent, 1000, MPI_DOUBLE_PRECISION, other, 6, MPI_COMM_WORLD, requests(2), error)
  call said('send Isend 8000 0 '//achar(iachar('0') + other)//' - 6 0-1')
  call mpi_waitall(2, requests, statuses, error)
  call said('wait Waitall 0 0 - - 0 ?')
  call mpi_allreduce(MPI_IN_PLACE, got, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call said('all-reduce Allreduce 24 24 - - 0 0-1')
  do i = 1, 2
    call mpi_bcast(sent, 4, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    if (rank == 0) then
      call said('broadcast Bcast 16 0 0 - 0 0-1')
    else
      call said('broadcast Bcast 0 16 0 - 0 0-1')
    end if
  end do
  call neighbors()
  call matched()
  write(9, '(i0, a)') rank, ' ends 3'
  close(9)
  call mpi_finalize(error)
contains
  ! At the edges of a line of two ranks; and a sum that is made once and started once.
  subroutine neighbors()
    call mpi_cart_create(MPI_COMM_WORLD, 1, [2], [.false.], .false., line, error)
    call mpi_neighbor_alltoall(sent, 3, MPI_INTEGER, got, 3, MPI_INTEGER, line, error)
    call said('neighbor-all-to-all Neighbor_alltoall 12 12 - - 0 0-1')
    call ALLREDUCE_INIT(sent, got, 5, MPI_DOUBLE_PRECISION, MPI_SUM, line, MPI_INFO_NULL, requests(1), error)
    call mpi_start(requests(1), error)
    call said('all-reduce Start 40 40 - - 1 0-1')
    call mpi_wait(requests(1), MPI_STATUS_IGNORE, error)
    call said('wait Wait 0 0 - - 0 ?')
    call mpi_request_free(requests(1), error)
  end subroutine
  subroutine matched()
    if (rank == 0) then
      call mpi_send(sent, 10, MPI_DOUBLE_PRECISION, 1, 5, MPI_COMM_WORLD, error)
      call said('send Send 80 0 1 - 5 0-1')
    else
      call mpi_mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, found, statuses(:, 1), error)
      call mpi_mrecv(got, 1000, MPI_DOUBLE_PRECISION, found, statuses(:, 2), error)
      call said('receive Mrecv 0 80 - 0 5 0-1')
    end if
  end subroutine
  subroutine said(line)
    character(len=*), intent(in) :: line
    integer :: space
    space = index(line, ' ')
    write(9, '(i0, a)') rank, ' '//line(:space)//'MPI_'//line(space + 1:)
  end subroutine
end program
